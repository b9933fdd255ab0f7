import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Resume data as it may come back from wherever an app kept it: damaged, or made to do harm.
@Suite(.overHTTP1To3) struct DownloadResumeDataTests {
  private typealias List = [String: Any]

  /// Resume data of 1000 bytes of 3000, and what it says.
  private func makeData(_ server: LoopbackServer, _ session: URLSession) async throws -> (Data, List) {
    let error = await #expect(throws: URLError.self) { try await session.download(from: server.url()) }
    let data = try #require(error?.downloadTaskResumeData)
    return (data, try #require(try PropertyListSerialization.propertyList(from: data, format: nil) as? List))
  }

  private func withResumeData(
    _ body: (LoopbackServer, FileResource, URLSession, Data, [String: Any]) async throws -> Void
  ) async throws {
    let file = FileResource(size: 3000)
    file.update { $0.cuts = [.after(1000)] }
    try await withServer({ file.reply(to: $0) }) { server in
      let session = URLSession(configuration: .loopback)
      let (data, list) = try await makeData(server, session)
      try await body(server, file, session, data, list)
      try? FileManager.default.removeItem(at: try partialFile(of: data))
      session.finishTasksAndInvalidate()
    }
  }

  @Test func itHasTheKeysOfApples() async throws {
    try await withResumeData { server, file, _, _, list in
      #expect(list["NSURLSessionResumeInfoVersion"] as? Int == 2)
      #expect(list["NSURLSessionDownloadURL"] as? String == server.url().absoluteString)
      #expect(list["NSURLSessionResumeBytesReceived"] as? Int == 1000)
      #expect(list["NSURLSessionResumeByteRange"] as? String == "1000-")
      #expect(list["NSURLSessionResumeEntityTag"] as? String == file.version.etag)
      #expect(list["NSURLSessionResumeServerDownloadDate"] as? String == file.version.lastModified)
      #expect(list["NSURLSessionResumeOriginalRequest"] is Data)
      #expect(list["NSURLSessionResumeCurrentRequest"] is Data)
      let name = try #require(list["NSURLSessionResumeInfoTempFileName"] as? String)
      #expect(!name.contains("/"))
    }
  }

  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: URLError.Code
    let apply: @Sendable (inout [String: Any]) -> Void

    init(_ key: String, _ value: (any Sendable)?, _ code: URLError.Code = .unsupportedURL) {
      testDescription = "\(key) = \(value.map { "\($0)" } ?? "nothing")"
      self.code = code
      apply = { $0["NSURLSession" + key] = value }
    }
  }

  static let name = "ResumeInfoTempFileName"
  static let changes: [Change] = [
    Change("ResumeInfoVersion", nil), Change("ResumeInfoVersion", 1), Change("ResumeInfoVersion", 3),
    Change("ResumeInfoVersion", "2"), Change("ResumeBytesReceived", nil), Change("ResumeBytesReceived", 0),
    Change("ResumeBytesReceived", -1000), Change("ResumeBytesReceived", Int64.max),
    Change("ResumeBytesReceived", 1e300),
    Change("ResumeBytesReceived", 999), Change("ResumeByteRange", "999-"), Change("ResumeByteRange", "1000-1001"),
    Change("ResumeOriginalRequest", nil), Change("ResumeOriginalRequest", Data()),
    Change("ResumeOriginalRequest", Data("bplist00 nonsense".utf8)), Change("ResumeOriginalRequest", "text"),
    Change("ResumeCurrentRequest", Data("<?xml version=\"1.0\" encoding=\"UTF-8\"?>".utf8)),
    Change("ResumeEntityTag", "\"a\"\r\nEvil: yes"),
    Change("ResumeEntityTag", ["a"]), Change("DownloadURL", 5),
    Change(name, nil), Change(name, ""), Change(name, "."), Change(name, ".."), Change(name, "/etc/passwd"),
    Change(name, "../../etc/passwd"), Change(name, "CFNetworkDownload_/../x.tmp"),
    Change(name, "CFNetworkDownload_.tmp"),
    Change(name, "CFNetworkDownload_a\u{0}b.tmp"), Change(name, "CFNetworkDownload_ä.tmp"),
    Change(name, "cfnetworkdownload_abc.tmp"), Change(name, "CFNetworkDownload_abc"),
    Change(name, "CFNetworkDownload_" + String(repeating: "a", count: 4000) + ".tmp"),
    Change(name, "CFNetworkDownload_neverThere.tmp", .cannotOpenFile),
  ]

  @Test(arguments: changes) func changedDataIsAnError(_ change: Change) async throws {
    try await withResumeData { _, file, session, _, list in
      var list = list
      change.apply(&list)
      let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
      #expect(error?.code == change.code)
      #expect(error?.downloadTaskResumeData == nil)
      #expect(file.served.count == 1)
    }
  }

  @Test func dataThatIsNotOursIsAnError() async throws {
    let header = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    let deep = String(repeating: "<array>", count: 200_000)
    let blobs = [
      Data(), Data([0]), Data("bplist00".utf8), Data(header.utf8), Data((header + "<plist>" + deep).utf8),
      Data((header + "<plist><dict><key>a</key>" + String(repeating: "<dict>", count: 200_000)).utf8),
      Data(repeating: 0x28, count: 300_000), Data(repeating: 0xFF, count: 1000), Data("{ a = (((( }".utf8),
      (header + deep).data(using: .utf16) ?? Data(),
    ]
    let session = URLSession(configuration: .loopback)
    for blob in blobs {
      let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: blob) }
      #expect(error?.code == .unsupportedURL)
    }
    session.finishTasksAndInvalidate()
  }

  @Test func everyTruncationIsAnError() async throws {
    try await withResumeData { _, file, session, data, _ in
      for count in stride(from: 0, to: data.count - 12, by: 13) {
        let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data.prefix(count)) }
        #expect(error?.code == .unsupportedURL)
      }
      #expect(file.served.count == 1)
    }
  }

  @Test func aFileThatIsNotTheOneIsAnError() async throws {
    enum Swap: CaseIterable { case shorter, longer, symbolicLink, secondName, folder, pipe }
    for swap in Swap.allCases {
      try await withResumeData { _, file, session, data, _ in
        let partial = try partialFile(of: data)
        let files = FileManager.default
        let victim = partial.deletingLastPathComponent().appendingPathComponent("victim-\(UUID().uuidString)")
        try Data(count: 1000).write(to: victim)
        switch swap {
        case .shorter: try Data(count: 999).write(to: partial)
        case .longer: try Data(count: 1001).write(to: partial)
        case .symbolicLink:
          try files.removeItem(at: partial)
          try files.createSymbolicLink(at: partial, withDestinationURL: victim)
        case .secondName:
          try files.removeItem(at: partial)
          try files.linkItem(at: victim, to: partial)
        case .folder:
          try files.removeItem(at: partial)
          try files.createDirectory(at: partial, withIntermediateDirectories: false)
        case .pipe:
          try files.removeItem(at: partial)
          #expect(mkfifo(partial.path, 0o600) == 0)
        }
        let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
        #expect(error?.code == .cannotOpenFile, "\(swap)")
        #expect(file.served.count == 1)
        #expect(try Data(contentsOf: victim) == Data(count: 1000))
        try files.removeItem(at: victim)
      }
    }
  }
}
