import Testing

@testable import CommandLineOutput

struct ByteFormatTests {
  @Test(arguments: [
    (0, "0 B"), (-5, "0 B"), (999, "999 B"), (1000, "1 KB"), (1500, "1.5 KB"), (1549, "1.5 KB"), (12_340, "12.3 KB"),
    (999_499, "999 KB"), (999_500, "1 MB"), (200_000_000, "200 MB"), (1_073_741_824, "1.1 GB"),
    (5_000_000_000_000, "5 TB"), (Int64.max, "9.2 EB"),
  ]) func bytes(_ count: Int64, _ text: String) { #expect(ByteFormat.bytes(count) == text) }

  @Test(arguments: [
    (0.0, "0 B/s"), (12_300_000, "12.3 MB/s"), (-1, "0 B/s"), (.infinity, "- B/s"), (.nan, "- B/s"),
    (1e300, "9 EB/s"),
  ]) func rate(_ bytesPerSecond: Double, _ text: String) { #expect(ByteFormat.rate(bytesPerSecond) == text) }

  @Test(
    arguments: [
      (0.0, "0:00"), (7, "0:07"), (59.6, "1:00"), (754, "12:34"), (3600, "1:00:00"), (11_100, "3:05:00"),
      (9 * 86_400 + 3 * 3600, "9 d 3 h"), (nil, "-:--"), (-1, "-:--"), (.infinity, "-:--"), (1e12, "-:--"),
    ] as [(Double?, String)]) func duration(_ seconds: Double?, _ text: String)
  {
    #expect(ByteFormat.duration(seconds) == text)
  }

  @Test(arguments: [(0.04, "0.0 s"), (0.25, "0.3 s"), (12.8, "12.8 s"), (59.96, "1:00"), (125, "2:05"), (-1, "-:--")])
  func elapsed(_ seconds: Double, _ text: String) { #expect(ByteFormat.elapsed(seconds) == text) }
}
