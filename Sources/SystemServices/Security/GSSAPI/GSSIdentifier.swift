import CLinux

/// An object identifier in memory that is never given back, as the library wants those that a caller passes.
struct GSSIdentifier: @unchecked Sendable {
  static let negotiate = GSSIdentifier(GSSMechanism.negotiate.identifier)
  static let kerberos = GSSIdentifier(GSSMechanism.kerberos.identifier)
  static let ntlm = GSSIdentifier(GSSMechanism.ntlm.identifier)
  /// GSS_C_NT_USER_NAME: 1.2.840.113554.1.2.1.1
  static let userName = GSSIdentifier([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x01, 0x01])
  /// GSS_C_NT_HOSTBASED_SERVICE: 1.2.840.113554.1.2.1.4
  static let hostBasedService = GSSIdentifier([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x01, 0x04])

  static func of(_ mechanism: GSSMechanism) -> GSSIdentifier {
    switch mechanism {
    case .negotiate: negotiate
    case .kerberos: kerberos
    case .ntlm: ntlm
    }
  }

  // Sendable by hand: written once, before anything else has the value.
  let pointer: UnsafeMutablePointer<clinux_gss_oid>

  private init(_ bytes: [UInt8]) {
    let elements = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    elements.copyBytes(from: bytes)
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: clinux_gss_oid(length: UInt32(bytes.count), elements: elements.baseAddress))
  }
}
