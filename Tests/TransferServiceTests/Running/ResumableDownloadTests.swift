import EveryVersion
import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// What servers do to a download that is to be resumed, and what comes of it in each destination, over each version of
/// HTTP. A row is one download in several tries, against a file of a million bytes whose first answer is cut.
@Suite(.overHTTP1To3) struct ResumableDownloadTests {
  enum Place: CaseIterable, Sendable { case temporaryFile, journalledPart }

  /// The expected end of one try.
  enum End: Sendable, Equatable {
    case complete
    /// The file is the body of an answer that is no part.
    case answered(String)
    case broke(URLError.Code, kept: Int64?)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Made anew for each run.
    var file: @Sendable () -> FileResource = { cutFile() }
    /// Answers a request in place of the file; the number is 1 for the first request.
    var answer: @Sendable (Int, FileResource) -> Reply? = { _, _ in nil }
    /// The last try's file is compared with this many bytes of the file's pattern.
    let ends: @Sendable (Place) -> [End]
    let ranges: @Sendable (Place) -> [String?]
    /// What the flow told its client in the tries after the first.
    let events: @Sendable (Place) -> [String]
  }

  static let size: Int64 = 1_000_000
  static let cut: Int64 = 300_000
  static let rest = "bytes=300000-"

  /// The first answer breaks off after `cut` bytes.
  static func cutFile(_ change: @Sendable (inout FileResource.Behaviour) -> Void = { _ in }) -> FileResource {
    let file = FileResource(size: size)
    file.update {
      $0.cuts = [.after(cut)]
      change(&$0)
    }
    return file
  }

  /// A part that says it is `start..<end` and brings `count` bytes, in chunks that end well.
  static func part(
    _ start: Int64, _ end: Int64, of total: String = "1000000", count: Int64, tag: String? = nil, in file: FileResource
  ) -> Reply {
    Reply([
      .head(
        206,
        fields: [
          ("ETag", tag ?? file.version.etag ?? ""), ("Transfer-Encoding", "chunked"),
          ("Content-Range", "bytes \(start)-\(end - 1)/\(total)"),
        ]), .patternChunks(file.version.pattern, from: start, count: count, each: 64 * 1024), .endOfChunks,
    ])
  }

  static let lost = End.broke(.networkConnectionLost, kept: cut)

  static let rows: [Row] = [
    Row(
      testDescription: "a cut in the middle", ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest] },
      events: { _ in ["resumed at 300000 of 1000000"] }),
    Row(
      testDescription: "cuts in the middle of the rest",
      file: { cutFile { $0.cuts = [.after(cut), .after(1), .after(99_999)] } },
      ends: { _ in
        [
          lost, .broke(.networkConnectionLost, kept: 300_001), .broke(.networkConnectionLost, kept: 400_000), .complete,
        ]
      }, ranges: { _ in [nil, rest, "bytes=300001-", "bytes=400000-"] },
      events: { _ in
        ["resumed at 300000 of 1000000", "resumed at 300001 of 1000000", "resumed at 400000 of 1000000"]
      }),
    Row(
      testDescription: "another entity tag",
      file: { cutFile { $0.replacement = (.init(size: 700_000, seed: 2), beforeRequest: 2) } },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest] }, events: { _ in ["began again"] }),
    Row(
      testDescription: "another entity tag, and less than is kept",
      file: { cutFile { $0.replacement = (.init(size: 100_000, seed: 2), beforeRequest: 2) } },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest] }, events: { _ in ["began again"] }),
    Row(
      testDescription: "416 with the exact length",
      file: { cutFile { $0.hidesLength = true } },
      answer: { number, file in
        guard number == 1 else { return nil }
        return Reply([
          .head(200, fields: [("ETag", file.version.etag ?? ""), ("Transfer-Encoding", "chunked")]),
          .patternChunks(file.version.pattern, count: size, each: 64 * 1024), .closeAbruptly,
        ])
      },
      ends: { _ in [.broke(.networkConnectionLost, kept: size), .complete] }, ranges: { _ in [nil, "bytes=1000000-"] },
      events: { _ in ["was complete with 1000000"] }),
    Row(
      testDescription: "416 with another length",
      answer: { number, _ in number == 2 ? .status(416, fields: [("Content-Range", "bytes */200000")]) : nil },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest, nil] },
      events: { _ in ["starts over", "began again"] }),
    Row(
      testDescription: "a part that starts elsewhere", file: { cutFile { $0.contentRange = .shifted(by: 1) } },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest, nil] },
      events: { _ in ["starts over", "began again"] }),
    Row(
      testDescription: "a part of another total", file: { cutFile { $0.contentRange = .wrongTotal(2_000_000) } },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest, nil] },
      events: { _ in ["starts over", "began again"] }),
    Row(
      testDescription: "a part that does not say which", file: { cutFile { $0.contentRange = .missing } },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest, nil] },
      events: { _ in ["starts over", "began again"] }),
    Row(
      testDescription: "412", answer: { number, _ in number == 2 ? .status(412) : nil },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest, nil] },
      events: { _ in ["starts over", "began again"] }),
    Row(
      testDescription: "503 to the range", answer: { number, _ in number == 2 ? .status(503, body: "later") : nil },
      ends: { place in
        // The app asked for the rest and gets the answer. It did not ask the service for it.
        [lost, place == .temporaryFile ? .answered("later") : .broke(.unknown, kept: cut), .complete]
      }, ranges: { _ in [nil, rest, rest] },
      events: { place in (place == .temporaryFile ? ["answered 503"] : []) + ["resumed at 300000 of 1000000"] }),
    Row(
      testDescription: "503 to the range, cut",
      answer: { number, _ in
        guard number == 2 else { return nil }
        return Reply([.head(503, fields: [("Content-Length", "100")]), .body("later"), .reset])
      },
      ends: { place in
        [lost, place == .temporaryFile ? lost : .broke(.unknown, kept: cut), .complete]
      }, ranges: { _ in [nil, rest, rest] },
      events: { place in (place == .temporaryFile ? ["answered 503"] : []) + ["resumed at 300000 of 1000000"] }),
    Row(
      testDescription: "short parts",
      answer: { number, file in
        switch number {
        case 2: part(cut, 600_000, count: 300_000, in: file)
        case 3: part(600_000, 600_001, count: 1, in: file)
        default: nil
        }
      },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest, "bytes=600000-", "bytes=600001-"] },
      events: { _ in ["resumed at 300000 of 1000000", "continued", "continued"] }),
    Row(
      testDescription: "parts of an unknown total", file: { cutFile { $0.hidesLength = true } },
      answer: { number, file in
        switch number {
        case 2: part(cut, 600_000, of: "*", count: 300_000, in: file)
        case 3: part(600_000, size, of: "*", count: 400_000, in: file)
        default: nil
        }
      },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest, "bytes=600000-", "bytes=1000000-"] },
      events: { _ in ["resumed at 300000 of *", "continued", "continued"] }),
    Row(
      testDescription: "a further part of something else",
      answer: { number, file in
        switch number {
        case 2: part(cut, 600_000, count: 300_000, in: file)
        case 3: part(600_000, size, count: 400_000, tag: "\"other\"", in: file)
        default: nil
        }
      },
      ends: { place in
        // The app's delegate knows where the download goes on; the next task finds out.
        place == .temporaryFile
          ? [lost, .broke(.networkConnectionLost, kept: 600_000), .complete] : [lost, .complete]
      },
      ranges: { place in
        [nil, rest, "bytes=600000-"] + (place == .temporaryFile ? ["bytes=600000-"] : [nil])
      },
      events: { place in
        place == .temporaryFile
          ? ["resumed at 300000 of 1000000", "resumed at 600000 of 1000000"]
          : ["resumed at 300000 of 1000000", "starts over", "began again"]
      }),
    Row(
      testDescription: "a part that ends early",
      answer: { number, file in number == 2 ? part(cut, size, count: 100_000, in: file) : nil },
      ends: { _ in [lost, .broke(.networkConnectionLost, kept: 400_000), .complete] },
      ranges: { _ in [nil, rest, "bytes=400000-"] },
      events: { _ in ["resumed at 300000 of 1000000", "resumed at 400000 of 1000000"] }),
    Row(
      testDescription: "a part with too many bytes",
      answer: { number, file in number == 2 ? part(cut, 400_000, count: 100_001, in: file) : nil },
      ends: { _ in [lost, .broke(.badServerResponse, kept: nil), .complete] }, ranges: { _ in [nil, rest, nil] },
      events: { _ in ["resumed at 300000 of 1000000", "began"] }),
    Row(
      testDescription: "no validator",
      file: {
        let file = FileResource(FileResource.Version(size: size, lastModified: nil))
        var version = file.version
        version.etag = nil
        file.replace(with: version)
        file.update { $0.cuts = [.after(cut)] }
        return file
      },
      ends: { _ in [.broke(.networkConnectionLost, kept: nil), .complete] }, ranges: { _ in [nil, nil] },
      events: { _ in ["began"] }),
    Row(
      testDescription: "no ranges any more",
      answer: { number, file in
        guard number == 2 else { return nil }
        file.update { $0.supportsRanges = false }
        return nil
      },
      ends: { _ in [lost, .complete] }, ranges: { _ in [nil, rest] }, events: { _ in ["began again"] }),
  ]

  @Test(arguments: rows, Place.allCases) func endsAs(_ row: Row, _ place: Place) async throws {
    let file = row.file()
    let requests = Recorder<Void>()
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      requests.record(())
      return row.answer(requests.count, file) ?? file.reply(to: request)
    }
    let url = server.url("/file")
    switch place {
    case .temporaryFile: try await check(row, place, TemporaryFilePlace(), url, file)
    case .journalledPart: try await check(row, place, try JournalledPlace(url), url, file)
    }
    #expect(server.requests.map { $0.value("Range") } == row.ranges(place))
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  private func check(
    _ row: Row, _ kind: Place, _ place: some DownloadPlace, _ url: URL, _ file: FileResource
  ) async throws {
    let configuration = URLSessionConfiguration.loopback.loadConfiguration
    let transport = HTTPTransport(configuration: configuration.transport)
    defer { transport.shutDown() }
    var events: [String] = []
    for (number, expected) in row.ends(kind).enumerated() {
      switch try await DownloadTry(in: place, configuration).run(URLRequest(url: url), over: transport) {
      case .complete(let path, let told):
        events += told
        if case .answered(let text) = expected {
          #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        } else {
          #expect(expected == .complete, "try \(number + 1)")
          let version = file.version
          #expect(version.pattern.difference(toFile: path, count: version.size) == nil)
        }
      case .broke(let code, let kept, let told):
        if number > 0 { events += told }
        #expect(expected == .broke(code, kept: kept), "try \(number + 1): \(told)")
      }
    }
    #expect(events == row.events(kind))
    try await place.close()
  }
}
