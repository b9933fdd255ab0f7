/// One parser, and what must hold whatever bytes it is given: that it comes back, and does not contradict itself.
///
/// `make fuzz` runs each under libFuzzer with the address sanitizer; `make test` gives each the corpus once.
package struct FuzzTarget: Sendable {
  /// Also the name of its folder in `Fuzz/Corpus`, and of its dictionary.
  package let name: String
  /// Throws a `Contradiction`.
  package let check: @Sendable (_ bytes: [UInt8]) throws -> Void

  init(_ name: String, _ check: @escaping @Sendable (_ bytes: [UInt8]) throws -> Void) {
    self.name = name
    self.check = check
  }

  package static let all: [FuzzTarget] = [
    heads, chunks, frames, http3Settings, http3Fields, datagrams, multipart, cookies, dates, challenges, fields, urls,
    codings, resumeData, messages,
    websocket, tunnels, routes, handshakes, ftpReplies, ntlm,
    ftpListings, encodedFiles, dataURLs, serviceRecords,
  ]
}

/// Something that should hold for all input, and does not for this one.
package struct Contradiction: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ description: @autoclosure () -> String) throws {
  guard condition else { throw Contradiction(description()) }
}

extension [UInt8] {
  /// Pieces of equal size, the last one perhaps smaller.
  func pieces(of size: Int) -> [ArraySlice<UInt8>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }

  /// The first byte decides on what is not in the bytes: a method, a piece's size. The rest is what is parsed.
  var choice: (byte: Int, rest: [UInt8]) { (Int(first ?? 0), Array(dropFirst())) }

  var text: String { String(decoding: self, as: UTF8.self) }
}
