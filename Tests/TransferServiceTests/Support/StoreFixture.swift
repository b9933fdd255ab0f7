import Foundation
import SystemServices
import TransferProtocol

@testable import TransferService

/// A database in a folder of its own, and what tests put into it.
struct StoreFixture {
  let folder: TemporaryFolder
  let store: TransferStore
  static let program = ExecutableIdentity(path: "/app", device: 1, inode: 2, owner: 3)

  init() throws {
    folder = try TemporaryFolder()
    store = try TransferStore.open(in: folder.path)
  }

  func session(_ identifier: String = "s", program: String = "/app") throws -> StoredSession {
    var executable = StoreFixture.program
    executable.path = program
    return try store.attach(app: store.app(for: executable), identifier: identifier, options: SessionOptions())
  }

  func create(_ count: Int, session: SessionID, running: Bool = true) throws -> [TransferID] {
    let new = (1...count).map {
      TransferStore.NewTransfer(.download("http://h/\($0)", task: $0, running: running), host: "http://h:80")
    }
    return try store.create(new, session: session, date: Date()).ids
  }

  /// The end of a transfer that succeeded.
  static func completion(_ bytes: Int64 = 5) -> Completion {
    Completion(
      failure: nil, response: ResponseSummary(url: "http://h/", status: 200), countOfBytesReceived: bytes,
      countOfBytesExpectedToReceive: bytes)
  }
}

/// Returns when a change of the queue, which `begin` asks for, is on the disk.
func written<Value: Sendable>(
  _ begin: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in begin { continuation.resume(with: $0) } }
}
