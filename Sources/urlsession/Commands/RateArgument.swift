import ArgumentParser
import TransferProtocol

/// A rate in bytes per second: `500K`, `1.5MB/s`, `2MiB`, `none`. K, M and G are thousands, as in what the program prints; with
/// an i they are powers of 1024.
enum RateArgument {
  private static let units: [Character: Int] = ["K": 1, "M": 2, "G": 3]

  /// nil for `none`.
  static func parse(_ text: String) throws -> Int64? {
    if text.lowercased() == "none" { return nil }
    var rest = text.uppercased()
    for suffix in ["/S", "B"] where rest.hasSuffix(suffix) { rest.removeLast(suffix.count) }
    let isBinary = rest.hasSuffix("I")
    if isBinary { rest.removeLast() }
    var factor = 1.0
    if let power = rest.last.flatMap({ units[$0] }) {
      rest.removeLast()
      for _ in 0..<power { factor *= isBinary ? 1_024 : 1_000 }
    } else if isBinary {
      throw malformed(text)
    }
    guard !rest.isEmpty, rest.allSatisfy({ $0.isASCII && $0.isNumber || $0 == "." }), let number = Double(rest),
      let rate = Int64(exactly: (number * factor).rounded())
    else { throw malformed(text) }
    guard rate >= BandwidthLimit.lowest else {
      throw ValidationError("A rate is \(BandwidthLimit.lowest) bytes per second at least.")
    }
    return rate
  }

  private static func malformed(_ text: String) -> ValidationError {
    ValidationError("\(text) is no rate. Give bytes per second, as 500K or 1.5MiB, or none.")
  }
}
