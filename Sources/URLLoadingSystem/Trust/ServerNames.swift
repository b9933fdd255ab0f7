import Foundation
import Glibc
import SwiftASN1
import X509

/// The names a server's certificate is good for, and whether a host is among them (RFC 9525 §6).
///
/// Only subject alternative names count, never the common name. A wildcard is the whole first label and stands for
/// exactly one; addresses match addresses only.
struct ServerNames: Sendable {
  private var names: [String] = []
  private var addresses: [[UInt8]] = []

  init(of certificate: Certificate) {
    guard let entries = (try? certificate.extensions.subjectAlternativeNames) ?? nil else { return }
    for entry in entries {
      switch entry {
      case .dnsName(let name): names.append(name)
      case .ipAddress(let bytes): addresses.append(Array(bytes.bytes))
      default: break
      }
    }
  }

  init(names: [String], addresses: [[UInt8]] = []) {
    self.names = names
    self.addresses = addresses
  }

  /// Reads them from a certificate in DER. What is no certificate is good for no host.
  static let reader: @Sendable ([UInt8]) -> @Sendable (String) -> Bool = { bytes in
    guard let certificate = try? Certificate(derEncoded: bytes) else { return { _ in false } }
    let names = ServerNames(of: certificate)
    return { names.cover($0) }
  }

  func cover(_ host: String) -> Bool {
    if let address = ServerNames.address(host) { return addresses.contains(address) }
    guard let host = ServerNames.normal(host) else { return false }
    return names.contains { ServerNames.matches(pattern: $0, host: host) }
  }

  private static func matches(pattern: String, host: String) -> Bool {
    guard let pattern = normal(pattern) else { return false }
    guard pattern.hasPrefix("*.") else { return !pattern.contains("*") && pattern == host }
    // RFC 9525 §6.3: a wildcard for a whole top level matches nothing.
    let rest = pattern.dropFirst(1)
    guard !rest.contains("*"), rest.dropFirst().contains("."), let dot = host.firstIndex(of: ".") else { return false }
    return dot != host.startIndex && host[dot...] == rest
  }

  /// Lower case, without the dot of a complete name; nil for what is no name in ASCII.
  private static func normal(_ name: String) -> String? {
    guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
    let lower = name.lowercased()
    let trimmed = lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    return trimmed.isEmpty ? nil : trimmed
  }

  /// The bytes of an IPv4 or IPv6 address in text; nil for a name. A zone (RFC 4007 §11) says which link of this machine
  /// leads to the address and is no part of it.
  private static func address(_ host: String) -> [UInt8]? {
    var text = host
    if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
    if text.contains(":"), let percent = text.firstIndex(of: "%") { text = String(text[..<percent]) }
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      if inet_pton(family, text, &bytes) == 1 { return bytes }
    }
    return nil
  }
}
