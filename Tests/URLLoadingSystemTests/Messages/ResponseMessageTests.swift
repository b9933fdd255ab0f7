import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// What a response says of itself, as it came from a server.
@Suite struct ResponseMessageTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: Reply
    let type: String?
    let charset: String?
    let length: Int64
    let name: String
  }

  static let cases = [
    Case(
      testDescription: "declared", reply: .ok("<b>", type: "text/plain; charset=ISO-8859-1"), type: "text/plain",
      charset: "iso-8859-1", length: 3, name: "report.txt"),
    Case(
      testDescription: "guessed from its first bytes",
      reply: .status(200, body: Array("\u{89}PNG\r\n\u{1A}\n".unicodeScalars.map { UInt8($0.value & 0xff) })),
      type: "image/png", charset: nil, length: 8, name: "report.png"),
    Case(
      testDescription: "of unknown length", reply: .chunked(["{}"], fields: [("Content-Type", "application/json")]),
      type: "application/json", charset: nil, length: -1, name: "report.json"),
    Case(
      testDescription: "named by the server",
      reply: .ok("x", type: "text/csv", fields: [("Content-Disposition", "attachment; filename=data.csv")]),
      type: "text/csv", charset: nil, length: 1, name: "data.csv"),
  ]

  @Test(arguments: cases) func tellsTypeLengthAndName(_ test: Case) async throws {
    try await withServer({ _ in test.reply }) { server in
      let session = URLSession(configuration: .ephemeral)
      let (_, response) = try await session.data(from: server.url("/dir/report"))
      #expect(response.url == server.url("/dir/report"))
      #expect(response.mimeType == test.type)
      #expect(response.textEncodingName == test.charset)
      #expect(response.expectedContentLength == test.length)
      #expect(response.suggestedFilename == test.name)
      session.finishTasksAndInvalidate()
    }
  }
}
