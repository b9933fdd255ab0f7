import Foundation
import Glibc
import HTTPTransport
import Synchronization

/// The body stream of a request, with a copy on the disk of what was read of it: so that it can be sent again although
/// the app has no second stream. The file has no name, and goes away with the body. Reading blocks; the stream and the file
/// are closed on a dispatch queue.
final class SpooledBody: Sendable {
  private struct State {
    var wasOpened = false
    var isClosed = false
    /// Open for reading and writing; -1 without a file.
    var descriptor: CInt = -1
    /// How many bytes were read, and are in the file.
    var count = 0
  }

  private let source: SendableInputStream
  private let state = Mutex(State())
  /// Held while the stream is read and its bytes are copied.
  private let reading = Mutex(())

  init(_ source: SendableInputStream) { self.source = source }

  deinit {
    let (isOpen, descriptor) = state.withLock { ($0.wasOpened && !$0.isClosed, $0.descriptor) }
    guard isOpen || descriptor >= 0 else { return }
    DispatchQueue.global().async { [source] in
      if isOpen { SpooledBody.close(source) }
      if descriptor >= 0 { Glibc.close(descriptor) }
    }
  }

  /// Reads at most `limit` bytes of the body from `position` on, which is not behind what was read before. Returns how
  /// many; 0 at the end. A reader that is given up may still wait for the stream: its bytes come first.
  func read(_ buffer: UnsafeMutablePointer<UInt8>, _ limit: Int, at position: Int) throws -> Int {
    if let count = try readCopy(buffer, limit, at: position) { return count }
    return try reading.withLock { _ in
      if let count = try readCopy(buffer, limit, at: position) { return count }
      guard open() else { throw unreadable }
      let count = source.stream.read(buffer, maxLength: limit)
      guard count >= 0 else { throw unreadable }
      try append(UnsafeBufferPointer(start: buffer, count: count))
      return count
    }
  }

  /// Reads what was copied before; nil where nothing was.
  private func readCopy(_ buffer: UnsafeMutablePointer<UInt8>, _ limit: Int, at position: Int) throws -> Int? {
    let (copied, descriptor) = state.withLock { ($0.count, $0.descriptor) }
    guard position < copied else { return nil }
    let count = pread(descriptor, buffer, min(limit, copied - position), off_t(position))
    guard count > 0 else { throw failure("read") }
    return count
  }

  private var unreadable: URLError {
    ErrorMapping.make(.requestBodyStreamExhausted, because: "The body stream of the request can't be read.")
  }

  /// The body is not needed any more. A read of a stream of the app's own class returns.
  func abandon() {
    guard type(of: source.stream) != InputStream.self else { return }
    let mustClose = state.withLock { state in
      defer { state.isClosed = true }
      return state.wasOpened && !state.isClosed
    }
    if mustClose { DispatchQueue.global().async { [source] in SpooledBody.close(source) } }
  }

  /// False when the stream is closed.
  private func open() -> Bool {
    let (isFirst, isClosed) = state.withLock { state in
      defer { state.wasOpened = state.wasOpened || !state.isClosed }
      return (!state.wasOpened, state.isClosed)
    }
    guard !isClosed else { return false }
    if isFirst, source.stream.streamStatus == .notOpen { source.stream.open() }
    return true
  }

  private static func close(_ source: SendableInputStream) {
    BlockingWork.assertMayBlock()
    source.stream.close()
  }

  private func append(_ bytes: UnsafeBufferPointer<UInt8>) throws {
    guard !bytes.isEmpty else { return }
    var (descriptor, place) = state.withLock { ($0.descriptor, $0.count) }
    if descriptor < 0 {
      let file = try TemporaryFile.create()
      TemporaryFile.remove(file.url)
      let made = file.descriptor
      descriptor = made
      state.withLock { $0.descriptor = made }
    }
    let end = place + bytes.count
    var rest = UnsafeRawBufferPointer(bytes)[...]
    while place < end {
      let count = pwrite(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, off_t(place))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure("written") }
      place += count
      rest = rest.dropFirst(count)
    }
    state.withLock { $0.count = end }
  }

  private func failure(_ verb: String) -> URLError {
    ErrorMapping.make(
      .cannotWriteToFile,
      because: "The copy of the request's body could not be \(verb): \(String(cString: strerror(errno))).")
  }
}
