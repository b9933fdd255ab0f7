/// The terms of `permessage-deflate` that both sides of a WebSocket connection agreed on (RFC 7692 §7).
package struct MessageCompression: Sendable, Equatable {
  /// Each of the server's messages is compressed by itself.
  package var serverForgets = false
  /// Each of our messages has to be compressed by itself.
  package var clientForgets = false
  /// The largest window we may compress with, as a power of two: 8…15.
  package var clientWindowBits = 15

  package init() {}

  package static let name = "permessage-deflate"

  /// The terms that are offered: any, a smaller window of ours among them (§7.1.2.2).
  package static let offer = "permessage-deflate; client_max_window_bits"

  /// Reads a server's answer to `offer`. nil when an answer contradicts RFC 7692 §7.1 or the offer.
  /// - Parameter parameters: what follows the extension's name, in order.
  package init?(answer parameters: [WebSocketExtension.Parameter], mayLimitClientWindow: Bool) {
    var seen: Set<String> = []
    for parameter in parameters {
      guard seen.insert(parameter.name).inserted else { return nil }
      switch (parameter.name, parameter.value) {
      case ("server_no_context_takeover", nil): serverForgets = true
      case ("client_no_context_takeover", nil): clientForgets = true
      case ("server_max_window_bits", let value?):
        guard MessageCompression.windowBits(value) != nil else { return nil }
      case ("client_max_window_bits", let value?):
        guard mayLimitClientWindow, let bits = MessageCompression.windowBits(value) else { return nil }
        clientWindowBits = bits
      default: return nil
      }
    }
  }

  /// §7.1.2: a decimal number from 8 to 15 without leading zeroes.
  private static func windowBits(_ value: String) -> Int? {
    guard value.utf8.first != UInt8(ascii: "0"), value.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let bits = Int(value), (8...15).contains(bits)
    else { return nil }
    return bits
  }
}
