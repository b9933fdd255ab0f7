import DequeModule
import Foundation
import NIOCore

/// The calls that a protocol has made to its client, in order, until the load takes them: what of them counts, and as what.
///
///     nothing ──response──▶ body ──end, failure──▶ over
///        │                   ▲
///        ├──data, end────────┘   a response is made up
///        ├──cached response──────────────────────▶ over
///        ├──failure──────────────────────────────▶ over
///        └──redirect──▶ what follows counts if the redirect is refused
struct ClientCalls {
  /// One step of the load.
  enum Item {
    case response(URLResponse, URLCache.StoragePolicy)
    case bytes(ByteBuffer)
    /// So many bytes are the next ones of the load's file (`ChunkSpill`).
    case stored(Int)
    case end
    case failure(any Error)
    case redirect(URLRequest, URLResponse)
  }

  /// The bytes that may wait in memory, each chunk with `costOfChunk`.
  static let mostInMemory = 16 * 1024 * 1024
  private static let costOfChunk = 128

  private var items = Deque<Item>()
  /// The cost of the chunks in memory.
  private(set) var inMemory = 0
  private var hasResponse = false
  /// The response of a redirect that is being decided.
  private var redirectResponse: URLResponse?
  /// Nothing more counts.
  private(set) var isOver = false
  private var isClosed = false
  private let url: URL?

  /// - Parameter url: The URL of a response that is made up.
  init(for url: URL?) { self.url = url }

  // MARK: The protocol's side

  mutating func receive(_ response: URLResponse, _ policy: URLCache.StoragePolicy) {
    guard !isOver, !hasResponse else { return }
    hasResponse = true
    items.append(.response(response, policy))
  }

  mutating func receive(_ bytes: ByteBuffer) {
    guard !isOver, bytes.readableBytes > 0 else { return }
    makeUpResponse()
    inMemory += ClientCalls.cost(of: bytes)
    items.append(.bytes(bytes))
  }

  private static func cost(of bytes: ByteBuffer) -> Int { bytes.readableBytes + costOfChunk }

  /// Whether `bytes` may wait in memory. One that counts for nothing may.
  func hasRoom(for bytes: ByteBuffer) -> Bool {
    isOver || bytes.readableBytes == 0 || inMemory + ClientCalls.cost(of: bytes) <= ClientCalls.mostInMemory
  }

  /// `count` bytes have been appended to the load's file.
  mutating func receive(stored count: Int) {
    guard !isOver else { return }
    makeUpResponse()
    // One step, however small the chunks are: the list of steps has no limit.
    if case .stored(let before)? = items.last {
      items[items.count - 1] = .stored(before + count)
    } else {
      items.append(.stored(count))
    }
  }

  mutating func finish() {
    guard !isOver else { return }
    makeUpResponse()
    items.append(.end)
    isOver = true
  }

  mutating func fail(_ error: any Error) {
    guard !isOver else { return }
    items.append(.failure(error))
    isOver = true
  }

  /// A stored response answers.
  mutating func answer(_ response: URLResponse, _ body: [ByteBuffer]) {
    guard !isOver, !hasResponse else { return }
    receive(response, .notAllowed)
    for bytes in body { receive(bytes) }
    finish()
  }

  mutating func redirect(to request: URLRequest, by response: URLResponse) {
    guard !isOver, !hasResponse, redirectResponse == nil else { return }
    redirectResponse = response
    items.append(.redirect(request, response))
  }

  private mutating func makeUpResponse() {
    receive(redirectResponse ?? URLResponse(url: url, declaredMIMEType: nil), .notAllowed)
  }

  // MARK: The load's side

  /// Whether `next` has something to give.
  var hasMore: Bool { !items.isEmpty }

  /// The next step; nil while there is none.
  mutating func next() -> Item? {
    let item = items.popFirst()
    if case .bytes(let bytes)? = item { inMemory -= ClientCalls.cost(of: bytes) }
    return item
  }

  /// The app does not follow the redirect that was taken last. The response that came with it is the result, and what the
  /// protocol has told since is its body. A protocol that has given up, or told nothing, has no body for it.
  mutating func redirectIsRefused() {
    guard let response = redirectResponse, !hasResponse, !isClosed else { return }
    items = [.response(response, .notAllowed), .end]
    isOver = true
  }

  /// Nothing more counts, and nothing is left to take.
  mutating func close() {
    (isOver, isClosed) = (true, true)
    items = []
    inMemory = 0
  }
}
