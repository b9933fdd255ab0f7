import Foundation
import Testing

@testable import TransferProtocol

/// What is written and read without `Codable` is the same JSON as by it.
@Suite struct DirectJSONTests {
  @Test(arguments: DirectSample.all) func bytesAreThoseOfCodable(_ sample: DirectSample) throws {
    for value in sample.values {
      let expected = try MessageFraming.makeEncoder().encode(value)
      #expect(try text(MessageFraming.encode(value)) == text(expected))
    }
  }

  @Test(arguments: DirectSample.all) func valuesComeBackWithoutCodable(_ sample: DirectSample) throws {
    for value in sample.values { try checkRead(value, from: MessageFraming.encode(value)) }
  }

  /// A field that was added to a type, and to no sample, would not be compared.
  @Test(arguments: DirectSample.all) func samplesHaveEveryField(_ sample: DirectSample) throws {
    let full = try #require(sample.values.first)
    #expect(emptyFields(of: full, named: sample.description) == [])
  }

  @Test(arguments: DirectSample.all) func spacesAndFieldsOfNewerProgramsArePassedOver(_ sample: DirectSample) throws {
    for value in sample.values {
      let json = try text(MessageFraming.encode(value))
      let spaced = json.replacing(/"([A-Za-z]+)":/) { "\"\($0.1)\" :\n\t " }.replacing("}", with: " }\r")
      try checkRead(value, from: Data(" \(spaced) ".utf8))
      guard json.hasPrefix("{"), json.count > 2, !sample.isOneOfSeveral else { continue }
      let newer = #"{"newer":[{"a":"}\"]","b":[]},null,-1.5e+3,true],"# + json.dropFirst()
      try checkRead(value, from: Data(newer.utf8))
    }
  }

  @Test func aFieldThatIsThereTwiceCountsTheFirstTime() throws {
    let json =
      #"{"body":{"session":"a","session":"b","tasks":[],"tasks":1},"id":1,"id":2,"request":"createTasks","request":"x"}"#
    let expected = ClientMessage(id: 1, request: .createTasks(CreateTasks(session: "a", tasks: [])))
    #expect(JSONScanner.read(ClientMessage.self, from: Data(json.utf8)) == expected)
    #expect(try JSONReader.decode(ClientMessage.self, from: Data(json.utf8), dates: .secondsSince1970) == expected)
  }

  /// Wherever a byte is another one or missing, it is read as `Codable` reads it, or left to it.
  @Test(arguments: DirectSample.all) func damagedBytesAreReadAsByCodableOrLeftToIt(_ sample: DirectSample) throws {
    let value = try #require(sample.values.last as (any DirectJSON)?)
    try checkDamage(of: value)
  }

  @Test(arguments: [
    "", "plain", "quoted \"\\/ text", "\u{0}\u{1}\u{8}\u{9}\u{A}\u{B}\u{C}\u{D}\u{1F}\u{7F}", "ö€𝄞👩‍👩‍👧", "\u{2028}",
  ])
  func stringsAreThoseOfCodable(_ string: String) throws {
    let expected = try MessageFraming.makeEncoder().encode(string)
    #expect(try text(MessageFraming.encode(string)) == text(expected))
    #expect(JSONScanner.read(String.self, from: expected) == string)
  }

  @Test(arguments: [0, -0.0, 1, -1.5, 1e16, 1e-7, 123_456_789.123456, 1.7e308, 1e-300])
  func numbersAreThoseOfCodable(_ number: Double) throws {
    let expected = try MessageFraming.makeEncoder().encode(number)
    #expect(try text(MessageFraming.encode(number)) == text(expected))
    #expect(JSONScanner.read(Double.self, from: expected) == number)
    #expect(JSONScanner.read(Float.self, from: try MessageFraming.encode(Float(0.3))) == 0.3)
  }

  @Test(arguments: [
    "01", "-", "1.", ".5", "1e", "+1", "0x10", "nan", "NaN", "inf", "1 2", "1.5.2", "--1", "1e400", "0e5",
    "9223372036854775808",
  ])
  func noNumbersAreLeftToCodable(_ json: String) {
    #expect(JSONScanner.read(Double.self, from: Data(json.utf8)) == nil || json == "9223372036854775808")
    #expect(JSONScanner.read(Int64.self, from: Data(json.utf8)) == nil)
  }

  @Test func numbersThatAreNoneAreNotWritten() {
    #expect(throws: EncodingError.self) { try MessageFraming.encode(Double.nan) }
    #expect(throws: EncodingError.self) { try MessageFraming.encode(Float.infinity) }
  }

  @Test func deepNestingIsLeftToCodable() {
    let deep = String(repeating: "[", count: 100_000)
    let json = Data((#"{"code":"a","sentence":"b","newer":"# + deep).utf8)
    #expect(JSONScanner.read(WaitingStatus.self, from: json) == nil)
  }

  /// Each read by `Codable` takes as long as many bytes: a message could have more of them than it has tasks.
  @Test(arguments: [1: true, 100_000: false]) func manyReadsByCodableAreLeftToItAsAWhole(count: Int, isRead: Bool)
    throws
  {
    let json = try text(
      MessageFraming.encode(TransferDescription(token: "t", taskIdentifier: 1, request: .init(url: "u"))))
    for piece in [#""hourlyLimits":[],"#, #""token":"\n","#] {
      let many = Data(("{" + String(repeating: piece, count: count) + json.dropFirst()).utf8)
      #expect((JSONScanner.read(TransferDescription.self, from: many) != nil) == isRead, "\(piece)")
    }
  }

  @Test(arguments: [
    (#"\"\\\/\b\f\n\r\t"#, true), (#"\u00e9\u0000\uABcd"#, true), (#"é\nö"#, true), (#"\x"#, false), (#"\u12"#, false),
    (#"\u12g4"#, false), (#"\ud83d"#, false), ("\\é", false), ("\\\u{1}", false),
  ])
  func escapesInWhatIsPassedOverAreChecked(escaped: String, isRead: Bool) throws {
    let json = Data(#"{"code":"a","sentence":"b","newer":["\#(escaped)"]}"#.utf8)
    #expect((JSONScanner.read(WaitingStatus.self, from: json) != nil) == isRead)
    try checkAgreement(WaitingStatus.self, on: json)
  }

  /// They take no read by `Codable`.
  @Test func manyEscapesInWhatIsPassedOverAreRead() {
    let strings = String(repeating: #""\n","#, count: 10_000)
    let json = Data(#"{"code":"a","sentence":"b","newer":[\#(strings)1]}"#.utf8)
    #expect(JSONScanner.read(WaitingStatus.self, from: json) != nil)
  }

  // MARK: Steps

  private func text(_ json: Data) throws -> String { String(decoding: json, as: UTF8.self) }

  private func checkRead<Value: DirectJSON>(_ value: Value, from json: Data) throws {
    let read = try #require(JSONScanner.read(Value.self, from: json), "\(String(decoding: json, as: UTF8.self))")
    #expect(try text(MessageFraming.makeEncoder().encode(read)) == text(MessageFraming.makeEncoder().encode(value)))
  }

  private func checkDamage<Value: DirectJSON>(of value: Value) throws {
    let json = try MessageFraming.encode(value)
    for index in json.indices {
      try checkAgreement(Value.self, on: Data(json.prefix(index)))
      for byte in Array("\"\\{}[],:-0.e1nt \u{1}".utf8) + [0xFF] where byte != json[index] {
        var damaged = json
        damaged[index] = byte
        try checkAgreement(Value.self, on: damaged)
      }
    }
  }

  private func checkAgreement<Value: DirectJSON>(_ type: Value.Type, on json: Data) throws {
    guard let read = JSONScanner.read(type, from: json) else { return }
    let encoder = MessageFraming.makeEncoder()
    let decoded = try? JSONReader.decode(type, from: json, dates: .secondsSince1970)
    let expected = try #require(decoded, "read without Codable alone: \(String(decoding: json, as: UTF8.self))")
    #expect(
      try text(encoder.encode(read)) == text(encoder.encode(expected)), "\(String(decoding: json, as: UTF8.self))")
  }

  /// The names of fields that are nil or empty lists, in values of our own types.
  private func emptyFields(of value: Any, named name: String) -> [String] {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional:
      guard let content = mirror.children.first else { return [name] }
      return emptyFields(of: content.value, named: name)
    case .collection:
      guard let first = mirror.children.first else { return [name] }
      return emptyFields(of: first.value, named: name)
    case .struct where value is any DirectJSON && !(value is Date), .enum where value is any DirectJSON:
      return mirror.children.flatMap { emptyFields(of: $0.value, named: "\(name).\($0.label ?? "")") }
    default: return []
    }
  }
}
