import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol
import TransferService

/// A folder for one test, closed to other users and removed with its owner.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    var template = Array("\(NSTemporaryDirectory())/transfer-service-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError(errno, "mkdtemp") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

extension TemporaryFolder {
  /// A folder in this one, closed to other users.
  func subfolder(_ name: String) throws -> String {
    let path = "\(path)/\(name)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return path
  }

  /// Writes a file with a few bytes: `partial/7`.
  func leaveFile(_ name: String) throws {
    let parts = name.split(separator: "/").map(String.init)
    try Data("bytes".utf8).write(to: URL(fileURLWithPath: try subfolder(parts[0]) + "/" + parts[1]))
  }

  /// Makes this the folder of a service that ended with one transfer in its queue. `change` does what happened since the
  /// task was created.
  func leaveTransfer(
    _ description: TransferDescription, validator: ResumeValidator? = nil,
    then change: (TransferStore, TransferID) throws -> Void
  ) throws {
    let store = try TransferStore.open(in: path)
    let program = ExecutableIdentity(path: "/app", device: 1, inode: 2, owner: geteuid())
    let session = try store.attach(app: store.app(for: program), identifier: "s", options: SessionOptions())
    var new = TransferStore.NewTransfer(description, host: "h")
    new.validator = validator
    try change(store, try store.create([new], session: session.id, date: Date()).ids[0])
    try store.close()
  }
}
