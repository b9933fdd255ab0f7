import Testing

@testable import CommandLineOutput

struct ProgressLineTests {
  private static func meter(_ done: Int64, of total: Int64?) -> ProgressMeter {
    var meter = ProgressMeter()
    meter.update(done: 0, total: total, at: 0)
    meter.update(done: done, total: total, at: 1)
    return meter
  }

  @Test func barShowsFiguresAndFillsTheWidth() {
    let line = ProgressLine.bar(ProgressLineTests.meter(90_000_000, of: 200_000_000), width: 80)
    #expect(line == "[===============>                   ]  45%  90 MB of 200 MB  90 MB/s  0:01 left")
    #expect(line.count <= 80)
  }

  @Test func barOfAnUnknownSize() {
    let line = ProgressLine.bar(ProgressLineTests.meter(1500, of: nil), width: 40)
    #expect(line == "[....................] 1.5 KB  1.5 KB/s")
  }

  @Test func completeBar() {
    let line = ProgressLine.bar(ProgressLineTests.meter(10, of: 10), label: "file", width: 70)
    #expect(line.hasPrefix("file [==="))
    #expect(line.contains("=] 100%"))
  }

  @Test(arguments: 0...30) func neverWiderThanTheTerminal(_ width: Int) {
    let line = ProgressLine.bar(ProgressLineTests.meter(90_000_000, of: 200_000_000), label: "label", width: width)
    #expect(line.count <= width)
  }

  @Test func plainIsWithoutABar() {
    let line = ProgressLine.plain(ProgressLineTests.meter(5, of: 10), label: "17")
    #expect(line == "17  50%  5 B of 10 B  5 B/s  0:01 left")
  }

  @Test(arguments: [(40, "17 waits for a network"), (10, "17 waits …"), (0, "")])
  func noteIsCut(_ width: Int, _ text: String) {
    #expect(ProgressLine.note("waits for a network", label: "17", width: width) == text)
  }
}
