import Foundation
import Testing

@testable import URLLoadingSystem

/// The body of a request as protocols get it.
@Suite struct ProtocolRequestTests {
  /// A part is all of the body that the request has.
  @Test(
    arguments: [(nil, "0123456789"), (BodyRange(start: 4), "456789"), (BodyRange(start: 2, count: 3), "234")]
      + [(BodyRange(start: 8, count: 5), "89"), (BodyRange(start: 20), ""), (BodyRange(start: 3, count: 0), "")]
      as [(BodyRange?, String)])
  func aPartOfTheBodyIsInTheStream(_ range: BodyRange?, _ expected: String) throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data("0123456789".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let request = URLRequest(url: try #require(URL(string: "http://host.test/")))
    for body in [RequestBody.file(file), .data(Data("0123456789".utf8))] {
      let shown = ProtocolRequest(LoadRequest(request, body: body, bodyRange: range)).shown
      #expect(try text(of: #require(shown.httpBodyStream)) == expected)
    }
  }

  @Test func aPartOfANamedPipeIsAnError() throws {
    let pipe = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try #require(mkfifo(pipe.path, 0o600) == 0)
    defer { try? FileManager.default.removeItem(at: pipe) }
    let stream = FilePartStream(pipe, BodyRange(start: 1))
    stream.open()
    #expect(stream.streamStatus == .error && (stream.streamError as? URLError)?.code == .cannotOpenFile)
    var byte: UInt8 = 0
    #expect(stream.read(&byte, maxLength: 1) == -1)
  }

  private func text(of stream: InputStream) throws -> String {
    stream.open()
    defer { stream.close() }
    var (body, buffer) = (Data(), [UInt8](repeating: 0, count: 4))
    while true {
      let count = stream.read(&buffer, maxLength: buffer.count)
      try #require(count >= 0)
      guard count > 0 else { return String(decoding: body, as: UTF8.self) }
      body.append(contentsOf: buffer[..<count])
    }
  }
}
