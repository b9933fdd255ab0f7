import Foundation
import TransferProtocol

/// The file that a download has to bring: its SHA-256, its length, or both.
///
/// A download whose file is another one fails with ``ContentMismatch``; the file is removed, and never handed out. Not part
/// of Apple's API.
///
///     let task = session.downloadTask(with: url)
///     task.expectedContent = ExpectedContent(sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
///     task.resume()
public struct ExpectedContent: Sendable, Hashable {
  /// The SHA-256 of the file, 32 bytes; nil: any.
  public let sha256: Data?
  /// The length of the file in bytes; nil: any.
  public let byteCount: Int64?

  /// A file of a length, whatever its bytes.
  ///
  /// - Parameter byteCount: in bytes. nil is returned for a negative number.
  public init?(byteCount: Int64) { self.init(ContentExpectation(byteCount: byteCount)) }

  /// A file with a SHA-256.
  ///
  /// - Parameters:
  ///   - sha256: 32 bytes. nil is returned for any other number of them.
  ///   - byteCount: the length in bytes where it is known as well; a download that is announced with another one then
  ///     fails before its body is received. nil is returned for a negative number.
  public init?(sha256: Data, byteCount: Int64? = nil) {
    self.init(ContentExpectation(sha256: Data(sha256), byteCount: byteCount))
  }

  /// As `init(sha256:byteCount:)` with the digest in hexadecimal, in upper or lower case, as `sha256sum` prints it. nil is
  /// returned for text that is not 64 hexadecimal digits.
  public init?(sha256 hexadecimal: String, byteCount: Int64? = nil) {
    guard let digest = Data(hexadecimal: hexadecimal) else { return nil }
    self.init(sha256: digest, byteCount: byteCount)
  }

  init?(_ expectation: ContentExpectation) {
    guard expectation.isSound, expectation != ContentExpectation() else { return nil }
    (sha256, byteCount) = (expectation.sha256, expectation.byteCount)
  }

  var description: ContentExpectation { ContentExpectation(sha256: sha256, byteCount: byteCount) }
}

extension Data {
  init?(hexadecimal text: String) {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes = Data(capacity: digits.count / 2)
    var high: UInt8?
    for digit in digits {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
      default: return nil
      }
      guard let first = high else {
        high = value
        continue
      }
      bytes.append(first << 4 | value)
      high = nil
    }
    self = bytes
  }

  /// In lower case.
  var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
