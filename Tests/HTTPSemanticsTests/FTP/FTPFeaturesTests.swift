import HTTPSemantics
import Testing

@Suite struct FTPFeaturesTests {
  private struct Row: CustomTestStringConvertible {
    let code: Int
    let lines: [String]
    let listsFacts: Bool
    var choice: String?
    var testDescription: String { "\(code) \(lines.joined(separator: "|"))" }
  }

  private static let rows = [
    Row(code: 211, lines: ["Features:", " MDTM", " MLST type*;size*;modify*;", "End"], listsFacts: true),
    Row(code: 211, lines: ["Features:", " mlst Type*;Size*;", "End"], listsFacts: true),
    Row(code: 211, lines: ["Features:", " MLST", "End"], listsFacts: true),
    Row(code: 211, lines: ["Features:", " MLSD", "End"], listsFacts: true),
    Row(
      code: 211, lines: ["Features:", " MLST type*;perm*;size*;unique*;unix.mode;unix.uid;charset;", "End"],
      listsFacts: true, choice: "OPTS MLST type;size;unix.mode;unix.uid;"),
    Row(code: 211, lines: ["Features:", " SIZE", " EPSV", "End"], listsFacts: false),
    // The first line and the last one are for people.
    Row(code: 211, lines: ["MLST", "MLST"], listsFacts: false), Row(code: 211, lines: ["MLST"], listsFacts: false),
    Row(code: 211, lines: [" MLST", " SIZE", " MLST"], listsFacts: false),
    Row(code: 211, lines: ["Features:", " MLSTX", " X MLST", "End"], listsFacts: false),
    Row(code: 502, lines: ["no", " MLST", "no"], listsFacts: false), Row(code: 211, lines: [], listsFacts: false),
  ]

  @Test(arguments: rows) private func whatAServerKnows(row: Row) {
    let features = FTPFeatures(FTPReply(code: row.code, lines: row.lines.map { Array($0.utf8) }))
    #expect(features.listsFacts == row.listsFacts)
    let line = features.choiceOfFacts?.line.map { String(decoding: $0.dropLast(2), as: UTF8.self) }
    #expect(line == row.choice)
  }

  /// The reader of replies bounds what a server may answer.
  @Test func anAnswerWithoutEndIsNoReply() {
    var reader = FTPReplyReader()
    reader.append(Array("211-Features:\r\n".utf8))
    #expect(throws: FTPReplyReader.Malformation.replyTooLong) {
      for _ in 0...FTPReplyReader.mostLines {
        reader.append(Array(" MLST type*;\r\n".utf8))
        _ = try reader.next()
      }
    }
  }
}
