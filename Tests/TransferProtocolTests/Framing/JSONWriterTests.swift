import Foundation
import Testing

@testable import TransferProtocol

@Suite struct JSONWriterTests {
  @Test(arguments: [
    "{}", "[]", #"{"a":{},"b":[[],{}]}"#, #"{"a":["1","x,{}[]:\\\"y"],"b":true}"#, #"[[["ä"],"x"],{"a":[{}]},false]"#,
    #""\\""#,
  ])
  func linesAreThoseOfTheEncoder(_ json: String) throws {
    let value = try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
    let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .fragmentsAllowed]
    let expected = try JSONSerialization.data(withJSONObject: value, options: options)
    var writer = JSONWriter(linesAtDepth: 0)
    write(value, to: &writer)
    #expect(String(decoding: writer.bytes, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
    var plain = JSONWriter()
    write(value, to: &plain)
    #expect(String(decoding: plain.bytes, as: UTF8.self) == json)
  }

  @Test func linesBeginWhereTheValuesAroundThemSay() {
    var writer = JSONWriter(linesAtDepth: 1)
    writer.object {
      $0.integer("a", 1)
      $0.null("b")
    }
    #expect(String(decoding: writer.bytes, as: UTF8.self) == "{\n    \"a\" : 1,\n    \"b\" : null\n  }")
  }

  private func write(_ value: Any, to writer: inout JSONWriter) {
    switch value {
    case let fields as [String: Any]:
      writer.object { writer in
        if let value = fields["a"] {
          writer.name("a")
          write(value, to: &writer)
        }
        if let value = fields["b"] {
          writer.name("b")
          write(value, to: &writer)
        }
      }
    case let elements as [Any]: writer.array(elements) { write($1, to: &$0) }
    case let text as String: writer.string(text)
    case let bool as Bool: writer.plain(bool ? "true" : "false")
    default: Issue.record("\(value) is not in the samples")
    }
  }
}
