import ArgumentParser
import Foundation

/// A SHA-256 of a public key, as in `sha256//…` and `pin-sha256` (RFC 7469 §2.4): 32 bytes in base64.
struct PinArgument: ExpressibleByArgument, Sendable, Equatable {
  let hash: Data

  init?(argument: String) {
    let text = argument.hasPrefix("sha256//") ? String(argument.dropFirst(8)) : argument
    guard let hash = Data(base64Encoded: text), hash.count == 32 else { return nil }
    self.hash = hash
  }
}
