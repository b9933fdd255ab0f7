import Foundation
import Glibc
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct LocalSchemeTests {
  @Test func aFileIsLoaded() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("load-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    let count: Int64 = 1_500_000
    try BytePattern().write(toFile: file.path, count: count)
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let (data, response) = try await session.data(from: file)
    #expect(BytePattern().matches(data) && Int64(data.count) == count)
    #expect(response.expectedContentLength == count)
    #expect(response.mimeType == "application/json")
    #expect(response.url == file)
  }

  /// A folder for files of one test, which are deleted behind it.
  private func withFolder(_ body: (URL, URLSession) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("local-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let session = URLSession(configuration: .ephemeral)
    do { try await body(folder, session) } catch {
      session.invalidateAndCancel()
      try? FileManager.default.removeItem(at: folder)
      throw error
    }
    session.invalidateAndCancel()
    try FileManager.default.removeItem(at: folder)
  }

  @Test(arguments: [
    ("bytes=2-4", "cde"), ("bytes=7-", "hij"), ("bytes=-2", "ij"), ("bytes=8-100", "ij"),
    // What asks for no one part asks for the whole.
    ("bytes=0-1,4-5", "abcdefghij"), ("lines=1-2", "abcdefghij"),
  ])
  func aRangeOfAFileIsRead(_ range: String, _ text: String) async throws {
    try await withFolder { folder, session in
      let file = folder.appendingPathComponent("a.txt")
      try Data("abcdefghij".utf8).write(to: file)
      var request = URLRequest(url: file)
      request.setValue(range, forHTTPHeaderField: "Range")
      let (data, response) = try await session.data(for: request)
      #expect(String(decoding: data, as: UTF8.self) == text)
      #expect(response.expectedContentLength == Int64(text.utf8.count))
    }
  }

  @Test func aRangeBehindTheFileIsAnError() async throws {
    try await withFolder { folder, session in
      let file = folder.appendingPathComponent("a.txt")
      try Data("abc".utf8).write(to: file)
      var request = URLRequest(url: file)
      request.setValue("bytes=3-", forHTTPHeaderField: "Range")
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .resourceUnavailable)
    }
  }

  @Test func headTellsOfAFile() async throws {
    try await withFolder { folder, session in
      let file = folder.appendingPathComponent("a.html")
      try Data("abc".utf8).write(to: file)
      var request = URLRequest(url: file)
      request.httpMethod = "HEAD"
      let (data, response) = try await session.data(for: request)
      #expect(data.isEmpty && response.expectedContentLength == 3 && response.mimeType == "text/html")
    }
  }

  @Test func aFileIsNotWritten() async throws {
    try await withFolder { folder, session in
      let file = folder.appendingPathComponent("a.txt")
      try Data("abc".utf8).write(to: file)
      var put = URLRequest(url: file)
      put.httpMethod = "PUT"
      let request = put
      let error = await #expect(throws: URLError.self) {
        _ = try await session.upload(for: request, from: Data("changed".utf8))
      }
      #expect(error?.code == .unsupportedURL)
      #expect(try Data(contentsOf: file) == Data("abc".utf8))
    }
  }

  /// By its name, and by its first bytes where the name says nothing.
  @Test(arguments: [
    ("a.html", "x", "text/html"), ("A.PNG", "x", "image/png"), ("a.tar", "x", "application/x-tar"),
    ("page", "<!DOCTYPE HTML><p>", "text/html"), ("words", "some words", "text/plain"),
    ("bytes", "\u{0}\u{1}", "application/octet-stream"), ("nothing", "", "application/octet-stream"),
  ])
  func aFileHasAMediaType(_ name: String, _ text: String, _ type: String) async throws {
    try await withFolder { folder, session in
      let file = folder.appendingPathComponent(name)
      try Data(text.utf8).write(to: file)
      let (_, response) = try await session.data(from: file)
      #expect(response.mimeType == type)
    }
  }

  @Test func namesMayHaveAnyBytes() async throws {
    try await withFolder { folder, session in
      let path = Array((folder.path + "/").utf8) + [0xFF, 0x25, 0x3F, 0x23, 0x20]
      let descriptor = open(path.map { CChar(bitPattern: $0) } + [0], O_CREAT | O_WRONLY, 0o600)
      try #require(descriptor >= 0)
      _ = close(descriptor)
      let url = try #require(URL(string: "file://localhost\(folder.path)/%FF%25%3F%23%20"))
      #expect(try await session.data(from: url).0.isEmpty)
    }
  }

  /// A file whose size is not known before it is read.
  @Test func aFileWithoutASizeIsReadToItsEnd() async throws {
    try await withFolder { _, session in
      let (data, response) = try await session.data(from: URL(fileURLWithPath: "/proc/self/status"))
      #expect(String(decoding: data, as: UTF8.self).hasPrefix("Name:"))
      #expect(response.expectedContentLength == -1)
    }
  }

  /// Opening one of these would wait for the other end.
  @Test func aNamedPipeAndASocketAreNoFiles() async throws {
    try await withFolder { folder, session in
      let pipe = folder.appendingPathComponent("pipe")
      try #require(mkfifo(pipe.path, 0o600) == 0)
      let socket = folder.appendingPathComponent("socket")
      // The node alone: nothing listens, as behind a program that has ended.
      try #require(mknod(socket.path, S_IFSOCK | 0o600, 0) == 0)
      for url in [pipe, socket] {
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
        #expect(error?.code == .cannotOpenFile, "\(url.lastPathComponent)")
        #expect(error?.localizedDescription.contains("is not a regular file") == true, "\(url.lastPathComponent)")
      }
    }
  }

  @Test(arguments: ["file://elsewhere/etc/hostname", "file:///tmp/a%00b"])
  func aNameThatIsNoFilesOfThisMachineIsAnError(_ text: String) async throws {
    try await withFolder { _, session in
      let url = try #require(URL(string: text))
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == (text.contains("elsewhere") ? .cannotOpenFile : .badURL))
    }
  }

  @Test(arguments: [
    ("/no/such/file", URLError.Code.fileDoesNotExist), ("/", .fileIsDirectory), ("/dev/null", .cannotOpenFile),
    // Not even root may read it.
    ("/proc/sys/net/ipv4/route/flush", .noPermissionsToReadFile),
    // A read of its first byte fails.
    ("/proc/self/mem", .cannotOpenFile),
  ])
  func whatIsNoFileIsAnError(_ path: String, _ code: URLError.Code) async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: URL(fileURLWithPath: path)) }
    #expect(error?.code == code)
  }

  @Test(
    arguments: [
      ("data:,hello%20world", "hello world", "text/plain", "US-ASCII"),
      ("data:text/html;base64,PGI+", "<b>", "text/html", nil), ("data:what,x", "x", "text/plain", "US-ASCII"),
      // The URL holds escapes for the spaces and the quotation marks.
      ("data: text/html ; charset=\"utf-8\" ;base64,P G I +", "<b>", "text/html", "utf-8"),
    ] as [(String, String, String, String?)])
  func aDataURLIsLoaded(_ text: String, _ content: String, _ type: String, _ charset: String?) async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let (data, response) = try await session.data(from: try #require(URL(string: text)))
    #expect(String(decoding: data, as: UTF8.self) == content)
    #expect(response.mimeType == type && response.textEncodingName == charset)
    #expect(response.expectedContentLength == Int64(content.utf8.count))
  }
}
