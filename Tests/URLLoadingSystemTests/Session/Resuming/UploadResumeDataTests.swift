import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Resume data of an upload as it may come back from wherever an app kept it: damaged, or made to do harm.
@Suite(.overHTTP1To3) struct UploadResumeDataTests {
  typealias List = [String: Any]

  enum Source: CaseIterable, Sendable { case data, file, stream }

  /// Resume data of an upload that stalled after 1000 bytes.
  private func withResumeData(
    _ source: Source = .data, _ body: (LoopbackServer, URLSession, Data, List) async throws -> Void
  ) async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try UploadScript.body.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try await UploadScript(post: [.cutOffered(1000, ending: .stall)]).run { server in
      let delegate = UploadDelegate()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: serialQueue())
      let request = UploadScript.request(server)
      let task =
        switch source {
        case .data: session.uploadTask(with: request, from: UploadScript.body)
        case .file: session.uploadTask(with: request, fromFile: file)
        case .stream: session.uploadTask(withStreamedRequest: request)
        }
      task.resume()
      _ = try await delegate.informational.next()
      let data = try #require(await task.cancelByProducingResumeData())
      let list = try #require(try PropertyListSerialization.propertyList(from: data, format: nil) as? List)
      try await body(server, session, data, list)
      if let name = ((list["NSURLSessionResumeUploadSource"] as? List)?["data"] as? List)?["fileName"] as? String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("urlsession-\(getuid())")
        try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
      }
      session.finishTasksAndInvalidate()
    }
  }

  private func failure(_ session: URLSession, _ data: Data) async throws -> URLError? {
    let ends = Recorder<URLError?>()
    session.uploadTask(withResumeData: data) { _, _, error in ends.record(error as? URLError) }.resume()
    return try await ends.next()
  }

  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let source: Source
    let code: URLError.Code
    let apply: @Sendable (inout List) -> Void

    init(_ source: Source, _ path: String, _ value: (any Sendable)?, _ code: URLError.Code = .unsupportedURL) {
      testDescription = "\(source): \(path) = \(value.map { "\($0)".prefix(60) } ?? "nothing")"
      self.source = source
      self.code = code
      let keys = path.split(separator: ".").map { String($0) }
      apply = { list in list = Change.replacing(keys[...], in: list, with: value) }
    }

    private static func replacing(_ keys: ArraySlice<String>, in list: List, with value: Any?) -> List {
      var list = list
      guard let key = keys.first else { return list }
      if keys.count == 1 {
        list[key] = value
      } else {
        list[key] = replacing(keys.dropFirst(), in: list[key] as? List ?? [:], with: value)
      }
      return list
    }
  }

  private static let version = "NSURLSessionResumeInfoVersion"
  private static let request = "NSURLSessionResumeOriginalRequest"
  private static let resource = "NSURLSessionUploadURL"
  private static let draft = "NSURLSessionResumeUploadVersion"
  private static let source = "NSURLSessionResumeUploadSource"
  private static let name = source + ".data.fileName"
  private static let path = source + ".file.path"
  private static let identity = source + ".file._1"

  private static func changes(
    _ source: Source, _ path: String, _ values: [(any Sendable)?], _ code: URLError.Code = .unsupportedURL
  ) -> [Change] { values.map { Change(source, path, $0, code) } }

  static let changes: [Change] = versions + requests + dataFiles + files + streams

  private static let versions: [Change] =
    changes(.data, version, [nil, 0, 1, 3, "2"])
    + changes(.data, draft, [nil, "", "2", "9", "-6", "6.0", "six", "99999999999999999999", 6])

  private static let requests: [Change] =
    changes(
      .data, resource,
      [
        nil, "", "/resume/1", "resume", "file:///etc/passwd", "ftp://127.0.0.1/x", "javascript:alert(1)", "http://",
        "http:///x", "http:x", "data:,x", 5, ["http://127.0.0.1/"],
      ])
    + changes(.data, request, [nil, "text", 5, Data(), ["a"]])
    + changes(.data, request + ".url", [nil, "", "file:///etc/passwd", "ftp://127.0.0.1/x", "x", 5])
    + changes(.data, request + ".headers", [nil, "text", 5])

  private static let dataFiles: [Change] =
    changes(.data, source, [nil, "text", 5, [String: String](), ["other": ["size": 1]]])
    + changes(
      .data, name,
      [
        nil, "", ".", "..", "/etc/passwd", "../../etc/passwd", "CFNetworkDownload_/../x.tmp",
        "CFNetworkDownload_.tmp", "CFNetworkDownload_ä.tmp", "cfnetworkdownload_abc.tmp", "CFNetworkDownload_abc",
        "CFNetworkDownload_" + String(repeating: "a", count: 4000) + ".tmp", 5, Data("CFNetworkDownload_abc.tmp".utf8),
      ])
    + changes(.data, name, ["CFNetworkDownload_neverThere.tmp"], .cannotOpenFile)
    + changes(.data, source + ".data.size", [nil, "600000", -1, Int64.min, 1e300])
    + changes(.data, source + ".data.size", [0, 1, 599_999, 600_001, Int64.max], .cannotOpenFile)

  private static let files: [Change] =
    changes(.file, path, [nil, "", "etc/passwd", "~/file", 5, "file:///etc/passwd"])
    + changes(
      .file, path, ["/etc/passwd", "/", "/proc/self/mem", "/dev/zero", "/never/there", "/../etc/passwd"],
      .cannotOpenFile)
    + changes(.file, identity + ".size", [nil, -1, "1", Int64.min])
    + changes(.file, identity + ".size", [0, 1, 600_001, Int64.max], .cannotOpenFile)
    + changes(.file, identity + ".inode", [nil, -1, "1"])
    + changes(.file, identity + ".inode", [0, 1, Int64.max], .cannotOpenFile)
    + changes(.file, identity + ".modified", [Int64.min, 0, Int64.max], .cannotOpenFile)

  private static let streams: [Change] = changes(.stream, source + ".stream.length", [-1, Int64.min, "1"])

  /// The request for the offset is not sent, and nothing is read that is none of ours.
  @Test(arguments: changes) func changedDataIsAnError(_ change: Change) async throws {
    try await withResumeData(change.source) { server, session, _, list in
      var list = list
      change.apply(&list)
      let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      let error = try await failure(session, data)
      #expect(error?.code == change.code)
      #expect(server.heads.map(\.method) == ["POST"])
    }
  }

  @Test func everyTruncationIsAnError() async throws {
    try await withResumeData { server, session, data, _ in
      for count in stride(from: 0, to: data.count - 12, by: 37) {
        let error = try await failure(session, data.prefix(count))
        #expect(error?.code == .unsupportedURL)
      }
      #expect(server.heads.map(\.method) == ["POST"])
    }
  }

  @Test func resumeDataOfADownloadIsNone() async throws {
    let file = FileResource(size: 3000)
    file.update { $0.cuts = [.after(1000)] }
    try await withServer({ file.reply(to: $0) }) { server in
      let session = URLSession(configuration: .loopback)
      let error = await #expect(throws: URLError.self) { try await session.download(from: server.url()) }
      let data = try #require(error?.downloadTaskResumeData)
      let wrong = try await failure(session, data)
      #expect(wrong?.code == .unsupportedURL)
      // And it is still good for what it is.
      let (whole, _) = try await session.download(resumeFrom: data)
      #expect(try Data(contentsOf: whole).count == 3000)
      try FileManager.default.removeItem(at: whole)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func otherFormatsAreErrors() async throws {
    try await withResumeData { server, session, data, list in
      let binary = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
      let text = String(decoding: data, as: UTF8.self)
      let blobs = [
        binary, text.data(using: .utf16) ?? Data(), Data("{}".utf8), Data(repeating: 0xFF, count: 100_000),
        Data((text + String(repeating: "<dict>", count: 100_000)).utf8),
      ]
      for blob in blobs {
        let error = try await failure(session, blob)
        #expect(error?.code == .unsupportedURL)
      }
      #expect(server.heads.map(\.method) == ["POST"])
    }
  }
}
