import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// Upload and data tasks of a background session whose transfer service is in this process.
@Suite struct BackgroundEngineUploadsTests {
  private let service = FakeTransferService()
  private let delegate = RecordingDelegate()
  private let session: URLSession
  private let request: URLRequest
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("uploads-\(UUID().uuidString)")

  init() throws {
    var request = URLRequest(url: try #require(URL(string: "http://example.com/upload")))
    request.httpMethod = "POST"
    request.httpBody = Data("not sent".utf8)
    self.request = request
    let configuration = URLSessionConfiguration.background(withIdentifier: "uploads-\(UUID().uuidString)")
    configuration.transferConnector = service
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func file(_ name: String) throws -> URL {
    let file = folder.appendingPathComponent(name)
    try Data("file".utf8).write(to: file)
    return file
  }

  private func end() async throws {
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
    try FileManager.default.removeItem(at: folder)
  }

  @Test func aFileIsSentAndTheAnswerIsGivenAsData() async throws {
    let file = try file("body")
    let task = session.uploadTask(with: request, fromFile: file)
    task.resume()
    let sent = try #require(try await service.nextCreation().first)
    #expect(sent.kind == .upload && sent.upload == UploadDescription(path: file.path))
    #expect(sent.request.method == "POST" && sent.request.body == nil)
    service.push(
      .sent(
        UploadProgress(
          session: "s", taskIdentifier: task.taskIdentifier, totalBytesSent: 3, totalBytesExpectedToSend: 4)))
    service.end(task.taskIdentifier, path: try self.file("answer").path)
    try await delegate.done.wait(within: patience)
    #expect(delegate.summary == ["created", "sent", "data", "metrics", "completed"])
    #expect(delegate.received.withLock { $0 } == Data("file".utf8))
    #expect(task.countOfBytesSent == 3 && task.countOfBytesExpectedToSend == 4)
    #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    try await end()
  }

  /// The service takes no file by its name, which may lead it to another file than the app.
  @Test func theOpenFileGoesWithItsTask() async throws {
    let count = FilePassing.mostFiles + 6
    let files = try (0..<count).map { try file("body-\($0)") }
    for file in files { session.uploadTask(with: request, fromFile: file).resume() }
    var numbers: [Int] = []
    while numbers.reduce(0, +) < count {
      let creation = try await service.next { if case .createTasks(let creation) = $0 { creation } else { nil } }
      #expect(creation.files == creation.tasks.count && creation.tasks.count <= FilePassing.mostFiles)
      numbers.append(creation.tasks.count)
    }
    let passed = service.passed.all.flatMap { $0 }
    #expect(passed.count == count && passed.allSatisfy { (try? $0.regularStatus().st_size) == 4 })
    try await end()
  }

  /// An app removes its file, and the connection ends before the service has answered.
  @Test func theFileIsPassedAgainOverTheNextConnection() async throws {
    service.fail("createTasks", .holdAnswer)
    let file = try file("body")
    session.uploadTask(with: request, fromFile: file).resume()
    while try await service.passed.next().isEmpty {}
    try await eventually("the answer to be held") { service.withState { $0.faults["createTasks"]?.isEmpty == true } }
    try FileManager.default.removeItem(at: file)
    service.drop()
    let creation = try await service.next { if case .createTasks(let creation) = $0 { creation } else { nil } }
    #expect(creation.files == 1)
    #expect(service.passed.all.filter { !$0.isEmpty }.count == 2)
    try await end()
  }

  /// Before anything is sent.
  @Test func aFileThatCanNotBeSentIsAnErrorOfItsTask() async throws {
    let pipe = folder.appendingPathComponent("pipe")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    let kinds: [(URL, URLError.Code)] = [
      (folder.appendingPathComponent("none"), .fileDoesNotExist), (folder, .fileIsDirectory), (pipe, .cannotOpenFile),
      (URL(fileURLWithPath: "/dev/null"), .cannotOpenFile),
    ]
    for (file, code) in kinds {
      let task = session.uploadTask(with: request, fromFile: file)
      task.resume()
      try await eventually("the end of the task") { task.state == .completed }
      #expect((task.error as? URLError)?.code == code, "\(file.path)")
    }
    #expect(!service.requests.all.contains { if case .createTasks = $0 { true } else { false } })
    try await end()
  }

  @Test func tasksThatEndWithTheProcessAreRefused() async throws {
    let body = Data("data".utf8)
    let tasks: [(URLSessionTask, String)] = [
      (session.uploadTask(with: request, from: body), "uploads files only"),
      (session.uploadTask(withStreamedRequest: request), "uploads files only"),
      (session.uploadTask(with: request, fromFile: folder.appendingPathComponent("none")), "does not exist"),
      (session.uploadTask(with: request, fromFile: folder), "is not a file"),
      (session.uploadTask(with: request, fromFile: try file("a")) { _, _, _ in }, "completion handler"),
      (session.dataTask(with: request) { _, _, _ in }, "completion handler"),
      (session.webSocketTask(with: try #require(URL(string: "ws://example.com/"))), "download, upload and data tasks"),
    ]
    for (task, sentence) in tasks {
      task.resume()
      try await eventually("the end of the task") { task.state == .completed }
      #expect((task.error as? URLError)?.localizedDescription.contains(sentence) == true, "\(sentence)")
    }
    try await end()
  }

  @Test func aDataTaskGetsItsDataAtTheEnd() async throws {
    let task = session.dataTask(with: try #require(request.url))
    task.resume()
    let sent = try #require(try await service.nextCreation().first)
    #expect(sent.kind == .download && sent.isDataTask == true)
    service.end(task.taskIdentifier, path: try file("answer").path)
    try await delegate.done.wait(within: patience)
    #expect(delegate.summary == ["created", "response", "data", "metrics", "completed"])
    #expect(delegate.received.withLock { $0 } == Data("file".utf8))
    try await end()
  }

  @Test func aDataTaskMayBecomeADownload() async throws {
    let became = Recorder<URLSessionDownloadTask>()
    delegate.onResponse = { _, _ in .becomeDownload }
    delegate.onDownload = { became.record($0) }
    let task = session.dataTask(with: try #require(request.url))
    task.resume()
    _ = try await service.nextCreation()
    service.end(task.taskIdentifier, path: try file("answer").path)
    try await delegate.done.wait(within: patience)
    let download = try await became.next()
    #expect(download.state == .completed && download.error == nil)
    #expect(delegate.summary.suffix(3) == ["metrics", "file", "completed"])
    try await end()
  }

  @Test func tasksOfAnEarlierProcessComeBackAsWhatTheyWere() async throws {
    var upload = TransferDescription(
      token: "u", taskIdentifier: 7, kind: .upload, request: RequestDescription(url: "http://example.com/u"))
    upload.upload = UploadDescription(path: "/file")
    var data = TransferDescription(
      token: "d", taskIdentifier: 8, request: RequestDescription(url: "http://example.com/d"))
    data.isDataTask = true
    let second = FakeTransferService()
    second.withState { [upload, data] in $0.tasks = [7: upload, 8: data] }
    let configuration = URLSessionConfiguration.background(withIdentifier: "uploads-\(UUID().uuidString)")
    configuration.transferConnector = second
    let delegate = RecordingDelegate()
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let tasks = await session.allTasks.sorted { $0.taskIdentifier < $1.taskIdentifier }
    #expect(tasks.map(\.taskIdentifier) == [7, 8])
    #expect(tasks.first is URLSessionUploadTask)
    #expect(tasks.last is URLSessionDataTask && !(tasks.last is URLSessionUploadTask))
    second.end(7, path: try file("answer").path)
    try await delegate.done.wait(within: patience)
    #expect(delegate.received.withLock { $0 } == Data("file".utf8))
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
    try await end()
  }
}
