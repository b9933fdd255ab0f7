import Crypto
import Foundation

/// Finds the authorities that a server names when it asks for a client's certificate. The TLS library has the list and
/// keeps it to itself, so it is read from the server's messages: in the clear up to TLS 1.2, and with the secret that
/// protects the server's side of the handshake in TLS 1.3.
package enum CertificateRequestReader {
  /// - Parameters:
  ///   - flight: What the server has sent so far.
  ///   - secret: TLS 1.3's `server_handshake_traffic_secret`; nil before TLS 1.3.
  package static func authorities(in flight: [UInt8], secret: [UInt8]?) -> [[UInt8]] {
    var messages: [UInt8] = []
    var suite: UInt16 = 0
    if case .found(let hello) = ServerHello.read(flight) { suite = hello.cipherSuite }
    var unsealer = secret.flatMap { RecordUnsealer(secret: $0, suite: suite) }
    var records = ByteReader(flight)
    while let type = records.uint8(), records.uint16() != nil, let length = records.uint16(),
      let body = records.bytes(Int(length))
    {
      switch type {
      case 22: messages += body
      case 23:
        guard let opened = unsealer?.open(body) else { return [] }
        // Whatever was in the clear before belongs to another message.
        if opened.type == 22 { messages += opened.content }
      default: break
      }
    }
    return authorities(inMessages: messages, isTLS13: unsealer != nil)
  }

  private static func authorities(inMessages messages: [UInt8], isTLS13: Bool) -> [[UInt8]] {
    var reader = ByteReader(messages)
    while let type = reader.uint8(), let length = reader.uint24(), let body = reader.bytes(length) {
      guard type == 13 else { continue }
      return isTLS13 ? authorities13(body) : authorities12(body)
    }
    return []
  }

  /// RFC 5246 §7.4.4: types, signature algorithms, authorities.
  private static func authorities12(_ body: [UInt8]) -> [[UInt8]] {
    var reader = ByteReader(body)
    guard let types = reader.uint8(), reader.bytes(Int(types)) != nil, let algorithms = reader.uint16(),
      reader.bytes(Int(algorithms)) != nil, let length = reader.uint16(), let list = reader.bytes(Int(length))
    else { return [] }
    return names(list)
  }

  /// RFC 8446 §4.3.2: a context, then extensions, of which `certificate_authorities` (§4.2.4) is number 47.
  private static func authorities13(_ body: [UInt8]) -> [[UInt8]] {
    var reader = ByteReader(body)
    guard let context = reader.uint8(), reader.bytes(Int(context)) != nil, let length = reader.uint16(),
      let list = reader.bytes(Int(length))
    else { return [] }
    var extensions = ByteReader(list)
    while let type = extensions.uint16(), let length = extensions.uint16(), let content = extensions.bytes(Int(length))
    {
      guard type == 47 else { continue }
      var inner = ByteReader(content)
      guard let length = inner.uint16(), let list = inner.bytes(Int(length)) else { return [] }
      return names(list)
    }
    return []
  }

  private static func names(_ list: [UInt8]) -> [[UInt8]] {
    var reader = ByteReader(list)
    var names: [[UInt8]] = []
    while let length = reader.uint16(), let name = reader.bytes(Int(length)) { names.append(name) }
    return names
  }
}

/// Opens the records of a TLS 1.3 server's first flight (RFC 8446 §5.2, §7.3).
private struct RecordUnsealer {
  private enum Cipher { case aesGCM, chaChaPoly }

  private let cipher: Cipher
  private let key: SymmetricKey
  private let nonce: [UInt8]
  private var sequence: UInt64 = 0

  init?(secret: [UInt8], suite: UInt16) {
    switch suite {
    case 0x1301:
      cipher = .aesGCM
      key = SymmetricKey(data: RecordUnsealer.expand(secret, "key", 16, SHA256.self))
      nonce = RecordUnsealer.expand(secret, "iv", 12, SHA256.self)
    case 0x1302:
      cipher = .aesGCM
      key = SymmetricKey(data: RecordUnsealer.expand(secret, "key", 32, SHA384.self))
      nonce = RecordUnsealer.expand(secret, "iv", 12, SHA384.self)
    case 0x1303:
      cipher = .chaChaPoly
      key = SymmetricKey(data: RecordUnsealer.expand(secret, "key", 32, SHA256.self))
      nonce = RecordUnsealer.expand(secret, "iv", 12, SHA256.self)
    default: return nil
    }
  }

  /// HKDF-Expand-Label with an empty context (RFC 8446 §7.1).
  private static func expand<Hash: HashFunction>(
    _ secret: [UInt8], _ label: String, _ count: Int, _ hash: Hash.Type
  ) -> [UInt8] {
    let name = Array("tls13 \(label)".utf8)
    let info = [UInt8(count >> 8), UInt8(count & 0xff), UInt8(name.count)] + name + [0]
    return HKDF<Hash>.expand(pseudoRandomKey: secret, info: info, outputByteCount: count).withUnsafeBytes { Array($0) }
  }

  /// The type and the content of the next record; nil when it can't be opened.
  mutating func open(_ record: [UInt8]) -> (type: UInt8, content: [UInt8])? {
    guard record.count > 16 else { return nil }
    var nonce = self.nonce
    for index in 0..<8 { nonce[11 - index] ^= UInt8(truncatingIfNeeded: sequence >> (8 * UInt64(index))) }
    sequence += 1
    let header: [UInt8] = [23, 3, 3, UInt8(record.count >> 8), UInt8(record.count & 0xff)]
    let (sealed, tag) = (record.dropLast(16), record.suffix(16))
    let opened: Data?
    switch cipher {
    case .aesGCM:
      opened = try? AES.GCM.open(
        AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: nonce), ciphertext: sealed, tag: tag), using: key,
        authenticating: header)
    case .chaChaPoly:
      opened = try? ChaChaPoly.open(
        ChaChaPoly.SealedBox(nonce: ChaChaPoly.Nonce(data: nonce), ciphertext: sealed, tag: tag), using: key,
        authenticating: header)
    }
    // The content ends with its type and any number of zeros.
    guard let opened, let end = opened.lastIndex(where: { $0 != 0 }) else { return nil }
    return (opened[end], Array(opened[..<end]))
  }
}

/// Reads numbers and vectors of TLS messages from bytes that may end anywhere.
struct ByteReader {
  private let source: [UInt8]
  private var position = 0

  init(_ source: [UInt8]) { self.source = source }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard count >= 0, count <= source.count - position else { return nil }
    defer { position += count }
    return Array(source[position..<position + count])
  }

  mutating func uint8() -> UInt8? { number(1).map { UInt8($0) } }
  mutating func uint16() -> UInt16? { number(2).map { UInt16($0) } }
  mutating func uint24() -> Int? { number(3) }

  private mutating func number(_ count: Int) -> Int? { bytes(count)?.reduce(0) { $0 << 8 | Int($1) } }
}
