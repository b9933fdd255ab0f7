import EveryVersion
import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

/// One try at a time at an upload whose copy can't be read for a while.
extension DownloadRunTests {
  /// An upload with a plain copy, as one that shares the blocks of the app's file.
  func upload(_ content: Data, to url: URL, method: String) throws -> TransferID {
    let file = "\(files.directory)/file"
    try content.write(to: URL(fileURLWithPath: file))
    let id = try add(.upload(file, to: url.absoluteString, method: method))
    var stored = StoredUpload(path: file)
    stored.identity = URLLoadingSystem.FileIdentity(URL(fileURLWithPath: file))
    stored.copy = "A.new"
    try store.setUpload(stored, of: id)
    try FileManager.default.moveItem(atPath: file, toPath: "\(files.uploadDirectory)/A.new")
    return id
  }

  @Test(arguments: ["PUT", "POST"]) func aCopyThatCanNotBeReadNowIsNoFailureOfTheUpload(method: String) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("in") }
    let content = Data(BytePattern().bytes(count: 5_000))
    let id = try upload(content, to: server.url("/upload"), method: method)
    let (copy, moved) = (files.upload(id), files.directory + "/moved")
    // It is there when the run looks, and away when it is opened.
    disk.watchSizes { if $0 == copy { _ = rename(copy, moved) } }
    let first = try await attempt(id).outcome
    guard case .storageUnavailable(let sentence, _, _) = first else {
      Issue.record("\(first)")
      return
    }
    #expect(sentence.contains(copy))
    disk.watchSizes(nil)
    #expect(rename(moved, copy) == 0)
    #expect(finishedSize(try await attempt(id).outcome) == 2)
    #expect(server.requests.map(\.body.bytes) == [Array(content)])
    await server.shutdown()
  }
}
