import Dispatch
import LoopbackServer

@testable import TransferService

extension EngineFixture {
  /// Runs `body` while the disk keeps every change of the queue waiting.
  func holdingQueue<Value>(_ body: () async throws -> Value) async throws -> Value {
    let (disk, isBusy) = (DispatchSemaphore(value: 0), Gate())
    store.database.write { _ in
      isBusy.open()
      disk.wait()
    } ended: { (_: Result<Void, any Error>) in
    }
    defer { disk.signal() }
    try await isBusy.wait(within: patience)
    return try await body()
  }
}
