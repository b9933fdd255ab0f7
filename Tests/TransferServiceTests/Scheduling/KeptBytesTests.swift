import Testing
import TransferService

@Suite struct KeptBytesTests {
  private static let enough = KeptBytes.enough

  static let rows: [(name: String, kept: KeptBytes, counted: Int64, areProgress: Bool)] = [
    ("nothing", KeptBytes(0), 0, false),
    ("one byte", KeptBytes(1), 0, false),
    ("one byte of a long file", KeptBytes(1, of: 1 << 30), 0, false),
    ("one byte less than enough", KeptBytes(enough - 1), 0, false),
    ("just enough", KeptBytes(enough), 0, true),
    ("just enough beyond what counted before", KeptBytes(5_000 + enough, of: 1 << 40), 5_000, true),
    ("a lot that counted before", KeptBytes(1 << 30, of: 1 << 31), 1 << 30, false),
    ("a lot that counted before, and a little more", KeptBytes(1 << 30 + 9), 1 << 30, false),
    ("less than counted before", KeptBytes(10), 1 << 30, false),
    ("half of a small file", KeptBytes(50, of: 100), 0, true),
    ("less than half of a small file", KeptBytes(49, of: 100), 0, false),
    ("half of what was missing", KeptBytes(75, of: 100), 50, true),
    ("less than half of what was missing", KeptBytes(74, of: 100), 50, false),
    ("the last byte", KeptBytes(100, of: 100), 99, true),
    ("a file that is shorter than what counted before", KeptBytes(20, of: 20), 50, false),
    ("more than there should be", KeptBytes(60, of: 20), 50, false),
    ("the greatest numbers", KeptBytes(.max, of: .max), 0, true),
    ("a little of the longest file", KeptBytes(1, of: .max), 0, false),
  ]

  @Test(arguments: rows.indices) func newBytesCountWhenTheyAreEnough(index: Int) {
    let row = Self.rows[index]
    #expect(row.kept.areProgress(beyond: row.counted) == row.areProgress, "\(row.name)")
  }

  /// Half of what is missing is less at each try, so quick tries come to an end.
  @Test func aSmallFileMakesFewStepsOfProgress() {
    var counted: Int64 = 0
    var steps = 0
    for count in 1...KeptBytes.enough
    where KeptBytes(count, of: KeptBytes.enough).areProgress(beyond: counted) {
      counted = count
      steps += 1
    }
    #expect(steps <= 19)
  }
}
