import Crypto

/// A user as NTLM knows one. It holds no password, but a hash that serves as one.
package struct NTLMIdentity: Sendable {
  package let user: String
  package let domain: String
  /// NTOWFv2 (MS-NLMP §3.3.2).
  package let responseKey: [UInt8]

  /// - Parameter name: `DOMAIN\user`; or `user@domain` or a name alone, which are sent as they are, with an empty domain
  ///   (MS-NLMP §3.1.5.1.2: a user principal name is a user name).
  package init(name: String, password: UnsafeRawBufferPointer) {
    let slash = name.utf8.firstIndex(of: UInt8(ascii: "\\"))
    let domain = slash.map { String(name[..<$0]) } ?? ""
    let user = slash.map { String(name[name.utf8.index(after: $0)...]) } ?? name
    self.user = user
    self.domain = domain
    var text = [UInt8](utf16LittleEndianOfUTF8: password)
    defer { text.overwrite() }
    // The hash of the password is NTOWFv1 (MS-NLMP §3.3.1), which serves as one, too.
    var hash = MD4.digest(text)
    defer { hash.overwrite() }
    responseKey = NTLMIdentity.code(
      key: hash, [UInt8](utf16LittleEndian: NTLMIdentity.uppercased(user) + domain))
  }

  /// As above, with a password that is in ordinary memory.
  package init(name: String, password: String) {
    var password = password
    self = password.withUTF8 { NTLMIdentity(name: name, password: UnsafeRawBufferPointer($0)) }
  }

  /// HMAC-MD5 (RFC 2104).
  static func code(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    Array(HMAC<Insecure.MD5>.authenticationCode(for: message, using: SymmetricKey(data: key)))
  }

  /// Windows maps each UTF-16 unit by itself: a letter whose capital form is more than one character stays.
  private static func uppercased(_ text: String) -> String {
    var mapped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let capital = scalar.properties.uppercaseMapping.unicodeScalars
      mapped.append(capital.count == 1 && scalar.value < 0x1_0000 ? capital.first ?? scalar : scalar)
    }
    return String(mapped)
  }
}
