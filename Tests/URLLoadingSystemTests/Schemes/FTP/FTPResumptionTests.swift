import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Downloads by FTP that go on (REST), provided that the file is as old as it was (MDTM).
@Suite struct FTPResumptionTests {
  private static let size = 3_000_000
  private static let old = "20200102030405"

  private func script(date: String? = old) -> FTPScript {
    FTPScript().with {
      $0.files = ["big": BytePattern().bytes(count: Self.size)]
      $0.dates = ["big": date ?? ""]
    }
  }

  /// Runs `body` with what a download leaves behind whose data connection breaks after so many bytes as the script says.
  /// Every data connection of that server does.
  private func withInterrupted(
    _ script: FTPScript, _ body: (ScriptedFTPServer, URLSession, Data?) async throws -> Void
  ) async throws {
    try await withFTP(script) { server, session, _ in
      let url = try server.url("/big")
      let error = await #expect(throws: URLError.self) { _ = try await session.download(from: url) }
      #expect(error?.code == .networkConnectionLost)
      try await body(server, session, error?.downloadTaskResumeData)
    }
  }

  @Test func onlyTheRestTravels() async throws {
    // The rest is shorter than that, and so it is whole.
    let cut = 2_000_000
    try await withInterrupted(script().with { $0.cut = cut }) { server, session, data in
      let data = try #require(data)
      let (file, response) = try await session.download(resumeFrom: data)
      defer { try? FileManager.default.removeItem(at: file) }
      #expect(BytePattern().difference(toFile: file.path, count: Int64(Self.size)) == nil)
      #expect(response.expectedContentLength == Int64(Self.size - cut))
      #expect(server.commands.contains("REST \(cut)") && server.commands.contains("MDTM big"))
    }
  }

  /// Without a date, or with one of this moment, the bytes may be another file's by then.
  @Test(arguments: ["", "29991231235959", "yesterday"]) func withoutAValidatorNothingIsKept(date: String) async throws {
    try await withInterrupted(script(date: date).with { $0.cut = 1_000_000 }) { _, _, data in #expect(data == nil) }
  }

  @Test func aServerThatCanNotGoOnSendsTheWhole() async throws {
    let broken = script().with {
      $0.cut = 2_000_000
      $0.answers["REST"] = "502 no\r\n"
    }
    try await withInterrupted(broken) { server, session, data in
      let data = try #require(data)
      // It is cut again, and begins at zero again.
      let error = await #expect(throws: URLError.self) { _ = try await session.download(resumeFrom: data) }
      #expect(error?.code == .networkConnectionLost && error?.downloadTaskResumeData != nil)
      #expect(server.commands.filter { $0 == "RETR big" }.count == 2)
    }
  }

  @Test(
    arguments: [
      ("bytes=4-", nil, "o\n"), ("bytes=4-", "Thu, 02 Jan 2020 03:04:05 GMT", "o\n"),
      ("bytes=4-", "Thu, 02 Jan 2020 03:04:06 GMT", "hello\n"), ("bytes=4-", "\"tag\"", "hello\n"),
      ("bytes=1-2", nil, "hello\n"),
    ] as [(String, String?, String)])
  func aRangeIsObeyed(range: String, condition: String?, text: String) async throws {
    let script = FTPScript.file().with { $0.dates = ["a.txt": Self.old] }
    try await withFTP(script) { server, session, _ in
      var request = URLRequest(url: try server.url("/a.txt"))
      request.setValue(range, forHTTPHeaderField: "Range")
      if let condition { request.setValue(condition, forHTTPHeaderField: "If-Range") }
      let (data, response) = try await session.data(for: request)
      #expect(String(decoding: data, as: UTF8.self) == text)
      #expect(response.expectedContentLength == Int64(text.utf8.count))
    }
  }

  @Test func aRangeBehindTheFileIsAnError() async throws {
    try await withFTP(.file()) { server, session, _ in
      var behind = URLRequest(url: try server.url("/a.txt"))
      behind.setValue("bytes=6-", forHTTPHeaderField: "Range")
      let request = behind
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .resourceUnavailable)
    }
  }
}
