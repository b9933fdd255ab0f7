import Foundation
import Testing

@testable import TransferProtocol

@Suite struct TransferStateTests {
  static let states: [(name: String, state: TransferState)] = [
    ("suspended", .suspended), ("waiting", .waiting), ("running", .running), ("completed", .completed),
    ("verifying", .other("verifying")),
  ]

  /// An app with an older library must be able to read the list of a newer service.
  @Test(arguments: states) func statesOfNewerServicesAreKeptByName(name: String, state: TransferState) throws {
    let text = Data("[\"\(name)\"]".utf8)
    #expect(try JSONDecoder().decode([TransferState].self, from: text) == [state])
    #expect(try JSONEncoder().encode([state]) == text)
  }

  static let kinds: [(name: String, kind: TransferKind)] = [
    ("download", .download), ("upload", .upload), ("stream", .other("stream")),
  ]

  @Test(arguments: kinds) func kindsOfNewerProgramsAreKeptByName(name: String, kind: TransferKind) throws {
    let text = Data("[\"\(name)\"]".utf8)
    #expect(try JSONDecoder().decode([TransferKind].self, from: text) == [kind])
    #expect(try JSONEncoder().encode([kind]) == text)
  }
}
