import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// Uploads, downloads that go on, and TLS with the FTP servers that people run.
@Suite(.fewAtATime) struct FTPTransferTests {
  private static let size: Int64 = 8 << 20

  private func withServer(
    _ server: RealServer, _ configure: (URLSessionConfiguration) -> Void = { _ in },
    _ body: (RealServer, URLSession) async throws -> Void
  ) async throws {
    let inbox = server.documentRoot + "/inbox"
    try FileManager.default.createDirectory(atPath: inbox, withIntermediateDirectories: true)
    let large = server.documentRoot + "/large"
    try BytePattern().write(toFile: large, count: Self.size)
    // A file of this moment may change again within the second that its date names.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: large)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.trustRoots = .file(try TestCertificates.shared().authorityFile)
    configure(configuration)
    let session = URLSession(configuration: configuration)
    do { try await body(server, session) } catch {
      session.invalidateAndCancel()
      await server.stop()
      throw error
    }
    session.invalidateAndCancel()
    await server.stop()
  }

  private func put(_ url: URL, _ method: String = "PUT") -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = method
    return request
  }

  /// A file is made, grows and is replaced, and a large one is stored whole.
  private func sendFiles(_ session: URLSession, _ server: RealServer, _ url: (String) -> URL) async throws {
    let path = server.documentRoot + "/inbox/a.txt"
    for (method, text, contents) in [("PUT", "one", "one"), ("APPE", "two", "onetwo"), ("PUT", "new", "new")] {
      _ = try await session.upload(for: put(url("/inbox/a.txt"), method), from: Data(text.utf8))
      #expect(try String(contentsOfFile: path, encoding: .utf8) == contents)
    }
    let large = URL(fileURLWithPath: server.documentRoot + "/large")
    _ = try await session.upload(for: put(url("/inbox/copy")), fromFile: large)
    #expect(BytePattern().difference(toFile: server.documentRoot + "/inbox/copy", count: Self.size) == nil)
  }

  /// So many bytes that a download is cancelled long before the last of them.
  private static let longSize: Int64 = 128 << 20

  private final class Counting: NSObject, URLSessionDownloadDelegate, Sendable {
    /// Bytes of the body that came over the network.
    let received = Recorder<Int64>()

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      received.record(metrics.transactionMetrics.reduce(0) { $0 + $1.countOfResponseBodyBytesReceived })
    }

    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}
  }

  /// A download that was cancelled in the middle goes on from there: only the rest travels.
  private func resumeDownload(_ session: URLSession, _ server: RealServer) async throws {
    let long = server.documentRoot + "/long"
    try BytePattern().write(toFile: long, count: Self.longSize)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: long)
    let task = session.downloadTask(with: server.ftpURL("/long"))
    task.resume()
    try await eventually("some bytes") { task.countOfBytesReceived > 0 }
    let data = try #require(await task.cancelByProducingResumeData())
    let counting = Counting()
    let (file, _) = try await session.download(resumeFrom: data, delegate: counting)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(BytePattern().difference(toFile: file.path, count: Self.longSize) == nil)
    let rest = try await counting.received.next()
    #expect(rest > 0 && rest < Self.longSize, "\(rest) bytes travelled")
  }

  @Test(.enabled(if: Vsftpd.installed.runsHere, "\(Vsftpd.installed.advice)")) func vsftpdTakesFiles() async throws {
    try await withServer(Vsftpd.start(takesFiles: true)) { server, session in
      try await sendFiles(session, server) { server.ftpURL($0) }
      try await resumeDownload(session, server)
    }
  }

  @Test(.enabled(if: PythonFTP.runsHere, "\(PythonFTP.advice)")) func pyftpdlibTakesFiles() async throws {
    try await withServer(PythonFTP.start()) { server, session in
      try await sendFiles(session, server) { server.ftpURL($0) }
      try await resumeDownload(session, server)
      let (listing, _) = try await session.data(from: server.ftpURL("/"))
      let lines = String(decoding: listing, as: UTF8.self).components(separatedBy: "\r\n")
      #expect(lines.contains { $0.hasPrefix("-rw") && $0.contains(" \(Self.size) Sep 13  2020 large") }, "\(lines)")
      #expect(lines.contains { $0.hasPrefix("d") && $0.hasSuffix(" inbox") }, "\(lines)")
      let (facts, _) = try await session.data(for: put(server.ftpURL("/"), "MLSD"))
      #expect(String(decoding: facts, as: UTF8.self).contains("size=\(Self.size);"))
    }
  }

  /// The server refuses data connections that do not resume the session of their control connection.
  @Test(
    .enabled(if: Vsftpd.installed.runsHere, "\(Vsftpd.installed.advice)"), arguments: [false, true],
    [tls_protocol_version_t.TLSv12, .TLSv13])
  func vsftpdOverTLS(isImplicit: Bool, version: tls_protocol_version_t) async throws {
    let identity = try TestCertificates.shared().localhost
    let files = TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    let started = try await Vsftpd.start(takesFiles: true, security: isImplicit ? .implicit(files) : .explicit(files))
    try await withServer(
      started,
      {
        $0.ftpRequiresTLS = true
        $0.tlsMaximumSupportedProtocolVersion = version
      }
    ) { server, session in
      for _ in 0..<3 {
        let (file, _) = try await session.download(from: server.secureFTPURL("/large", isImplicit: isImplicit))
        #expect(BytePattern().difference(toFile: file.path, count: Self.size) == nil)
        try FileManager.default.removeItem(at: file)
      }
      try await sendFiles(session, server) { server.secureFTPURL($0, isImplicit: isImplicit) }
    }
  }

  @Test(.enabled(if: Vsftpd.installed.runsHere, "\(Vsftpd.installed.advice)"))
  func withoutTLSAServerThatWantsItIsNotRead() async throws {
    let identity = try TestCertificates.shared().localhost
    let files = TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    try await withServer(Vsftpd.start(security: .explicit(files))) { server, session in
      let url = server.secureFTPURL("/large")
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .userAuthenticationRequired || error?.code == .badServerResponse)
    }
  }
}
