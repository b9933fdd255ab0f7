import Crypto

/// The hash functions of Digest, the weakest first (RFC 7616 §3.2, §6.1).
package enum DigestHash: Int, Sendable, Hashable, CaseIterable, Comparable {
  case md5
  case sha256
  case sha512_256

  package static func < (left: DigestHash, right: DigestHash) -> Bool { left.rawValue < right.rawValue }

  /// The hash of the text's UTF-8, as hexadecimal digits in lower case: `H` of RFC 7616 §3.4.
  func hex(_ text: String) -> String { hex(Array(text.utf8)) }

  /// The hash of a body that is there as a whole.
  package func hex(_ bytes: [UInt8]) -> String {
    var hasher = DigestHasher(self)
    bytes.withUnsafeBytes { hasher.update($0) }
    return hasher.finished()
  }
}

/// Hashes a body that comes in pieces, for `auth-int` (RFC 7616 §3.4.3).
package struct DigestHasher: Sendable {
  private enum State: Sendable {
    case md5(Insecure.MD5)
    case sha256(SHA256)
    case sha512_256(SHA512_256)
  }

  private var state: State

  package init(_ hash: DigestHash) {
    switch hash {
    case .md5: state = .md5(Insecure.MD5())
    case .sha256: state = .sha256(SHA256())
    case .sha512_256: state = .sha512_256(SHA512_256())
    }
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    switch state {
    case .md5(var hash):
      hash.update(bufferPointer: bytes)
      state = .md5(hash)
    case .sha256(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha256(hash)
    case .sha512_256(var hash):
      hash.update(bytes)
      state = .sha512_256(hash)
    }
  }

  /// The hash of all bytes so far, as hexadecimal digits in lower case.
  package func finished() -> String {
    switch state {
    case .md5(let hash): hash.finalize().hexText
    case .sha256(let hash): hash.finalize().hexText
    case .sha512_256(let hash): hash.finished().hexText
    }
  }
}
