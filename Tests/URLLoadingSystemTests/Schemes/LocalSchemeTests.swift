import Foundation
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

  @Test(arguments: [
    ("/no/such/file", URLError.Code.fileDoesNotExist), ("/", .fileIsDirectory), ("/dev/null", .cannotOpenFile),
    // Nobody may read it, not even root.
    ("/proc/sys/net/ipv4/route/flush", .noPermissionsToReadFile),
  ])
  func whatIsNoFileIsAnError(_ path: String, _ code: URLError.Code) async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: URL(fileURLWithPath: path)) }
    #expect(error?.code == code)
  }

  @Test(arguments: [
    ("data:,hello%20world", "hello world", "text/plain"), ("data:text/html;base64,PGI+", "<b>", "text/html"),
  ])
  func aDataURLIsLoaded(_ text: String, _ content: String, _ type: String) async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let (data, response) = try await session.data(from: try #require(URL(string: text)))
    #expect(String(decoding: data, as: UTF8.self) == content)
    #expect(response.mimeType == type)
    #expect(response.expectedContentLength == Int64(content.utf8.count))
  }
}
