import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// Downloads that fail in a transfer service that has kept their bytes.
@Suite struct BackgroundEngineFailuresTests {
  private let delegate = RecordingDelegate()
  private let url: URL
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("failures-\(UUID().uuidString)")
  /// As the service names them: the middle is random.
  private let path: String

  init() throws {
    url = try #require(URL(string: "http://example.com/file"))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let word = UUID().uuidString.prefix(23).lowercased()
    path = folder.appendingPathComponent("1.\(word).resume").path
    // The last byte is behind those that count.
    try Data("parts".utf8).write(to: URL(fileURLWithPath: path))
  }

  private func session(_ service: FakeTransferService) -> URLSession {
    let configuration = URLSessionConfiguration.background(withIdentifier: "failures-\(UUID().uuidString)")
    configuration.transferConnector = service
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private func end(_ session: URLSession) async throws {
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
    try FileManager.default.removeItem(at: folder)
  }

  private var point: ResumePoint {
    var point = ResumePoint(path: path, offset: 4, url: url.absoluteString, expectedTotal: 9)
    point.entityTag = "\"x\""
    return point
  }

  private let failure = TransferFailure(domain: NSURLErrorDomain, code: -1001, message: "The time is over.")

  private func awaitAcknowledgement(_ service: FakeTransferService) async throws {
    _ = try await service.next { if case .acknowledge(let body) = $0 { body.sequences } else { nil } }
  }

  @Test func aFailureHandsOverWhatArrived() async throws {
    let service = FakeTransferService()
    let session = session(service)
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    service.end(task.taskIdentifier, path: nil, failure: failure, resumePoint: point)
    let error = try await delegate.errors.next()
    #expect(error.code == .timedOut && (task.error as? URLError)?.downloadTaskResumeData != nil)
    let data = try #require(error.downloadTaskResumeData)
    let decoded = try DownloadResumeData(decoding: data)
    #expect(decoded.bytesReceived == 4 && decoded.expectedTotal == 9 && decoded.validator.entityTag == "\"x\"")
    let file = try #require(error.resumeFile)
    defer { TemporaryFile.remove(file) }
    #expect(try Data(contentsOf: file) == Data("part".utf8) && !FileManager.default.fileExists(atPath: path))
    try await awaitAcknowledgement(service)
    // The next task gives the service that file.
    session.downloadTask(withResumeData: data).resume()
    #expect(try await service.nextCreation().first?.resumePoint?.path == file.path)
    try await end(session)
  }

  /// The process ended after it had moved the file, and before it acknowledged the event.
  @Test func theNextProcessIsToldTheSame() async throws {
    var files: [URL] = []
    var earlier: [Int: TransferDescription] = [:]
    for isFirst in [true, false] {
      let service = FakeTransferService()
      service.withState { [earlier] in $0.tasks = earlier }
      let session = session(service)
      if isFirst {
        session.downloadTask(with: url).resume()
        earlier = Dictionary(uniqueKeysWithValues: try await service.nextCreation().map { ($0.taskIdentifier, $0) })
      } else {
        #expect(await session.allTasks.map(\.taskIdentifier) == Array(earlier.keys))
      }
      service.end(try #require(earlier.keys.first), path: nil, failure: failure, resumePoint: point)
      files.append(try #require(try await delegate.errors.next().resumeFile))
      try await awaitAcknowledgement(service)
      session.invalidateAndCancel()
    }
    #expect(files[0] == files[1])
    #expect(try Data(contentsOf: files[1]) == Data("part".utf8))
    TemporaryFile.remove(files[1])
    try FileManager.default.removeItem(at: folder)
  }

  /// The service removes the file.
  @Test func aDownloadThatTheAppGivesUpTakesNoFile() async throws {
    let service = FakeTransferService()
    let session = session(service)
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    for name in ["cancelTask", "cancelTasks"] { service.fail(name, .refuse(Refusal(.unknownTask, "It is over."))) }
    task.cancel()
    service.end(task.taskIdentifier, path: nil, failure: failure, resumePoint: point)
    try await awaitAcknowledgement(service)
    #expect((task.error as? URLError)?.code == .cancelled && (task.error as? URLError)?.resumeData == nil)
    #expect(FileManager.default.fileExists(atPath: path))
    try await end(session)
  }

  @Test func aFileThatIsGoneLeavesTheFailureAlone() async throws {
    try FileManager.default.removeItem(atPath: path)
    let service = FakeTransferService()
    let session = session(service)
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    service.end(task.taskIdentifier, path: nil, failure: failure, resumePoint: point)
    let error = try await delegate.errors.next()
    #expect(error.code == .timedOut && error.downloadTaskResumeData == nil)
    try await awaitAcknowledgement(service)
    try await end(session)
  }

  /// A process that was killed after it had given the file the second name, and before it took the first one away.
  @Test func aMoveThatWasInterruptedIsMadeAgain() throws {
    let name = try TemporaryFile.adopt(path, size: 4)
    let own = TemporaryFile.directory.appendingPathComponent(name)
    defer { TemporaryFile.remove(own) }
    try FileManager.default.linkItem(atPath: own.path, toPath: path)
    #expect(try TemporaryFile.adopt(path, size: 4) == name)
    #expect(try TemporaryFile.adopt(path, size: 4) == name, "it has moved")
    try TemporaryFile.check(name, size: 4)
    #expect(throws: URLError.self) { try TemporaryFile.adopt(path, size: 3) }
    try FileManager.default.removeItem(at: folder)
  }
}
