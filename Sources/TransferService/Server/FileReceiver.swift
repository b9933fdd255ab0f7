import Dispatch
import Foundation
import SystemServices

/// Waits on a connection for the byte that brings open files. The event loop reads bytes without them, which would lose the
/// files, so the loop must not read the connection meanwhile.
final class FileReceiver: Sendable {
  // Sendable: a source may be cancelled from any thread.
  private nonisolated(unsafe) let source: any DispatchSourceRead

  private static let queue = DispatchQueue(label: "transfer-server.files")

  /// - Parameters:
  ///   - socket: a descriptor of the connection of its own, which is closed at the end.
  ///   - received: called at most once, on a queue. Fewer files than were sent are those that this process could open.
  init(_ socket: Int32, received: @escaping @Sendable (Result<[SourceFile], any Error>) -> Void) {
    let source = StreamReadSource.make(socket, queue: FileReceiver.queue)
    self.source = source
    source.setEventHandler { [weak self] in
      dispatchPrecondition(condition: .onQueue(FileReceiver.queue))
      guard let self, !self.source.isCancelled else { return }
      do {
        guard let files = try FilePassing.receive(over: socket) else { return }
        cancel()
        received(.success(files))
      } catch {
        cancel()
        received(.failure(error))
      }
    }
    source.activate()
  }

  deinit { source.cancel() }

  func cancel() { source.cancel() }
}
