import Foundation
import TransferProtocol

@testable import TransferService

extension EngineFixture {
  /// The bytes that are sent of an upload's copy, be it sealed or not; nil where there is none that can be read.
  func contentOfUpload(_ id: TransferID) throws -> Data? {
    let path = files.upload(id)
    guard let stored = try store.transfer(id), let upload = stored.upload, upload.sealedCopy != nil else {
      return FileManager.default.contents(atPath: path)
    }
    guard case .known(let key?) = engine.queue.sync(execute: { engine.copyKey(of: stored) }) else { return nil }
    let chunks = SealedChunks(key: key, count: upload.size)
    guard let body = try SealedBody(copy: path, chunks: chunks, path: path) else { return nil }
    var content = Data(count: Int(body.length))
    let count = try content.withUnsafeMutableBytes { try body.read(into: $0, at: 0) }
    return content.prefix(count)
  }
}
