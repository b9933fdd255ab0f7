import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Downloads whose file is decoded while it arrives. The formats themselves are in the tests of their decoders.
@Suite struct NSURLDownloadDecodingTests {
  /// A file `webutils_pl` as a public converter writes it.
  private static let binHex = """
    (This file must be converted with BinHex 4.0)
    :#hGPBR9dD@acAh"X!$mr2cmr2cmr!!!!!!!8!!!!!-ka5%p-38K26%&)6da"5%p
    -38K26%'d9J!!:
    """
  private static let binHexText = "HOLAHOLAHOLAHOLAHOLA"

  private static func macBinary(_ text: String) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: 128)
    (header[1], header[2], header[86]) = (1, UInt8(ascii: "a"), UInt8(text.utf8.count))
    return header + text.utf8 + [UInt8](repeating: 0, count: 128 - text.utf8.count)
  }

  private struct Case {
    let name: String
    let type: String
    let body: [UInt8]
    let events: [String]
    let file: String
    let text: String
  }

  private static func cases() -> [Case] {
    let (gzip, macBinary, binHex) = ("application/gzip", "application/macbinary", "application/mac-binhex40")
    return [
      Case(
        name: "/a.txt.gz", type: "application/x-gzip", body: CodedBytes.gzip.encode(Array("plain".utf8)),
        events: ["decode \(gzip)"], file: "a.txt", text: "plain"),
      Case(
        name: "/a.txt.bin", type: macBinary, body: Self.macBinary("plain"), events: ["decode \(macBinary)"],
        file: "a.txt", text: "plain"),
      Case(
        name: "/a.txt.hqx", type: binHex, body: Array(Self.binHex.utf8), events: ["decode \(binHex)"], file: "a.txt",
        text: binHexText),
      Case(
        name: "/a.txt.hqx.gz", type: gzip, body: CodedBytes.gzip.encode(Array(Self.binHex.utf8)),
        events: ["decode \(gzip)", "decode \(binHex)"], file: "a.txt", text: binHexText),
    ]
  }

  @available(*, deprecated)
  private func load(_ log: DownloadRecorder, _ server: LoopbackServer, _ path: String, _ sessions: ConnectionSessions)
    async throws
  {
    let request = URLRequest(url: server.url(path))
    try await onRunLoop(log) {
      NSURLDownload(request: request, delegate: log, in: sessions).deletesFileUponFailure = false
    }
    #expect(log.strays.all.isEmpty)
  }

  @available(*, deprecated)
  @Test func eachEncodingIsUndoneWhereTheDelegateWantsIt() async throws {
    for row in Self.cases() {
      try await withConnections({ _ in .ok(row.body, type: row.type) }) { server, sessions in
        let log = DownloadRecorder(try TemporaryFolder())
        try await load(log, server, row.name, sessions)
        #expect(
          log.summary == ["begin", "send 0", "response"] + row.events + [
            "decide \(row.file)", "created", "length", "finished",
          ])
        #expect(log.folder.text(row.file) == row.text)
        // What was received is counted, not what was made of it.
        #expect(log.lengths.all.reduce(0, +) == row.body.count)

        let other = DownloadRecorder(try TemporaryFolder())
        other.decodes = { _ in false }
        try await load(other, server, row.name, sessions)
        #expect(other.events.all.filter { $0.hasPrefix("decode") } == [row.events[0]])
        #expect(other.folder.data(String(row.name.dropFirst())) == Data(row.body))
      }
    }
  }

  @available(*, deprecated)
  @Test func aLargeFileIsDecodedInPieces() async throws {
    let plain = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 / 3000) }
    let body = CodedBytes.gzip.encode(plain)
    try await withConnections({ _ in .ok(body, type: "application/gzip") }) { server, sessions in
      let log = DownloadRecorder(try TemporaryFolder())
      try await load(log, server, "/a.gz", sessions)
      #expect(log.folder.data("a") == Data(plain))
    }
  }

  @available(*, deprecated)
  @Test func aDamagedOrTruncatedFileFails() async throws {
    for row in Self.cases() {
      let short = Array(row.body.prefix(row.body.count / 2))
      let rows: [([UInt8], URLError.Code)] = [
        (short, .downloadDecodingFailedToComplete),
        ([UInt8](repeating: 1, count: 2_000_000), .downloadDecodingFailedMidStream),
      ]
      for (body, code) in rows {
        try await withConnections({ _ in .ok(body, type: row.type) }) { server, sessions in
          let log = DownloadRecorder(try TemporaryFolder())
          try await load(log, server, row.name, sessions)
          #expect(log.summary.last == "failed \(code.rawValue)", "\(row.name) \(body.count)")
        }
      }
    }
  }

  @available(*, deprecated)
  @Test func noDecodedDownloadCanBeResumed() {
    for type in ["application/gzip", "application/x-gzip", "application/macbinary", "application/mac-binhex40"] {
      #expect(!NSURLDownload.canResumeDownloadDecoded(withEncodingMIMEType: type))
    }
    #expect(NSURLDownload.canResumeDownloadDecoded(withEncodingMIMEType: "text/plain"))
  }
}
