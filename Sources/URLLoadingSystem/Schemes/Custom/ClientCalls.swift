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
    case end
    case failure(any Error)
    case redirect(URLRequest, URLResponse)
  }

  private var items = Deque<Item>()
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
    items.append(.bytes(bytes))
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
  mutating func next() -> Item? { items.popFirst() }

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
  }
}
