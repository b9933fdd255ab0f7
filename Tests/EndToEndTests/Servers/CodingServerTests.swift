import ChildProcess
import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

private enum Packers {
  static let needed: [InstalledServer] = [.nginx, .apache, .zstd]
  static let areAllHere = needed.allSatisfy(\.runsHere)
  static let advice = needed.filter { !$0.isInstalled }.map(\.advice).joined(separator: "; ")
}

/// Bodies that real servers compress: nginx and Apache while they send them, the zstd program beforehand.
@Suite(.fewAtATime, .enabled(if: Packers.areAllHere, "\(Packers.advice)"))
struct CodingServerTests {
  static let text = String(repeating: "The quick brown fox jumps over the lazy dog.\n", count: 20_000)
  static let large = FileResource.Version(size: 104 << 20, seed: 3)

  private func withSession(_ body: (URLSession) async throws -> Void) async throws {
    let session = URLSession(configuration: .ephemeral)
    try await body(session)
    session.invalidateAndCancel()
  }

  /// Loads the text into memory and the large file onto the disk, and looks at every byte.
  private func check(_ session: URLSession, _ url: (String) -> URL, coding: String) async throws {
    let (text, response) = try await session.data(from: url("/text.txt"))
    #expect(String(decoding: text, as: UTF8.self) == Self.text)
    #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Encoding") == coding)
    #expect(response.expectedContentLength == -1)

    let (file, largeResponse) = try await session.download(from: url("/large.txt"))
    defer { try? FileManager.default.removeItem(at: file) }
    #expect((largeResponse as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Encoding") == coding)
    #expect(Self.large.pattern.difference(toFile: file.path, count: Self.large.size) == nil)
  }

  private func writeFiles(in root: String) throws {
    try Self.text.write(toFile: root + "/text.txt", atomically: false, encoding: .utf8)
    try Self.large.pattern.write(toFile: root + "/large.txt", count: Self.large.size)
  }

  @Test func nginxPacksWithGzip() async throws {
    let nginx = try await Nginx.start(extra: "gzip_comp_level 1;")
    try writeFiles(in: nginx.documentRoot)
    try await withSession { try await check($0, { nginx.url($0) }, coding: "gzip") }
    await nginx.stop()
  }

  @Test(arguments: [("DEFLATE", "gzip"), ("BROTLI_COMPRESS", "br")])
  func apachePacks(filters: String, coding: String) async throws {
    let apache = try await Apache.start(
      modules: ["brotli"],
      extra: """
        DeflateCompressionLevel 1
        BrotliCompressionQuality 1
        RemoveOutputFilter txt
        <Location "/">
          SetOutputFilter \(filters)
        </Location>
        """)
    try writeFiles(in: apache.documentRoot)
    try await withSession { try await check($0, { apache.url($0) }, coding: coding) }
    await apache.stop()
  }

  /// Two frames behind each other, made by the program that everybody uses.
  @Test func apacheServesWhatZstdPacked() async throws {
    let apache = try await Apache.start(extra: "AddEncoding zstd .zst\nRemoveOutputFilter txt\nAddType text/plain .txt")
    try writeFiles(in: apache.documentRoot)
    for name in ["text.txt", "large.txt"] {
      let process = ChildProcess()
      process.executableURL = URL(fileURLWithPath: try InstalledServer.zstd.path())
      process.arguments = ["-q", "-1", "--rm", apache.documentRoot + "/" + name]
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
    }
    try await withSession { try await check($0, { apache.url($0 + ".zst") }, coding: "zstd") }
    await apache.stop()
  }

  /// A range is of the plain bytes, whatever the server likes to pack.
  @Test func rangesAreOfPlainBytes() async throws {
    let nginx = try await Nginx.start()
    try writeFiles(in: nginx.documentRoot)
    try await withSession { session in
      var request = URLRequest(url: nginx.url("/text.txt"))
      request.setValue("bytes=45-89", forHTTPHeaderField: "Range")
      let (part, response) = try await session.data(for: request)
      #expect((response as? HTTPURLResponse)?.statusCode == 206)
      #expect(String(decoding: part, as: UTF8.self) == "The quick brown fox jumps over the lazy dog.\n")
    }
    await nginx.stop()
  }
}
