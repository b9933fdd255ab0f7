import CLinux
import Foundation

/// MIT Kerberos' GSS-API (RFC 2744). Opened at run time where it is installed; nothing needs it.
struct GSSLibrary: Sendable {
  /// nil where the library is not installed. The first use reads it from the disk.
  static let shared = RuntimeLibrary(named: "libgssapi_krb5.so.2").flatMap { try? GSSLibrary($0) }

  typealias Name = OpaquePointer
  typealias Credential = OpaquePointer
  typealias Context = OpaquePointer
  typealias Status = UnsafeMutablePointer<UInt32>
  typealias Buffer = UnsafeMutablePointer<clinux_gss_buffer>
  typealias Identifier = UnsafeMutablePointer<clinux_gss_oid>
  typealias IdentifierSet = UnsafeMutablePointer<clinux_gss_oid_set>
  typealias Bindings = UnsafeMutablePointer<clinux_gss_channel_bindings>
  typealias New<Thing> = UnsafeMutablePointer<Thing?>

  let importName: @convention(c) (Status, Buffer, Identifier, New<Name>) -> UInt32
  let releaseName: @convention(c) (Status, New<Name>) -> UInt32
  let acquireCredential:
    @convention(c) (
      Status, Name?, UInt32, IdentifierSet, CInt, New<Credential>, New<IdentifierSet>?, Status?
    ) -> UInt32
  let acquireCredentialWithPassword:
    @convention(c) (
      Status, Name?, Buffer, UInt32, IdentifierSet, CInt, New<Credential>, New<IdentifierSet>?, Status?
    ) -> UInt32
  let setNegotiable: @convention(c) (Status, Credential, IdentifierSet) -> UInt32
  let releaseCredential: @convention(c) (Status, New<Credential>) -> UInt32
  let initSecurityContext:
    @convention(c) (
      Status, Credential?, New<Context>, Name, Identifier, UInt32, UInt32, Bindings?, Buffer?, New<Identifier>?, Buffer,
      Status?, Status?
    ) -> UInt32
  let deleteSecurityContext: @convention(c) (Status, New<Context>, Buffer?) -> UInt32
  let releaseBuffer: @convention(c) (Status, Buffer) -> UInt32
  let displayStatus: @convention(c) (Status, UInt32, CInt, Identifier?, Status, Buffer) -> UInt32
  let indicateMechanisms: @convention(c) (Status, New<IdentifierSet>) -> UInt32
  let isMember: @convention(c) (Status, Identifier, IdentifierSet, UnsafeMutablePointer<CInt>) -> UInt32
  let releaseIdentifiers: @convention(c) (Status, New<IdentifierSet>) -> UInt32

  private init(_ library: RuntimeLibrary) throws {
    importName = try library.function("gss_import_name")
    releaseName = try library.function("gss_release_name")
    acquireCredential = try library.function("gss_acquire_cred")
    acquireCredentialWithPassword = try library.function("gss_acquire_cred_with_password")
    setNegotiable = try library.function("gss_set_neg_mechs")
    releaseCredential = try library.function("gss_release_cred")
    initSecurityContext = try library.function("gss_init_sec_context")
    deleteSecurityContext = try library.function("gss_delete_sec_context")
    releaseBuffer = try library.function("gss_release_buffer")
    displayStatus = try library.function("gss_display_status")
    indicateMechanisms = try library.function("gss_indicate_mechs")
    isMember = try library.function("gss_test_oid_set_member")
    releaseIdentifiers = try library.function("gss_release_oid_set")
  }

  /// Runs `call`; throws what the library says when its major status is an error (RFC 2744 §3.9.1).
  @discardableResult
  func check(
    _ operation: GSSError.Operation, _ mechanism: GSSMechanism, _ call: (Status) -> UInt32
  ) throws -> UInt32 {
    var minor: UInt32 = 0
    let major = call(&minor)
    guard major & GSSError.errorMask == 0 else {
      throw GSSError.failed(operation, status(operation, mechanism, major, minor))
    }
    return major
  }

  func status(
    _ operation: GSSError.Operation, _ mechanism: GSSMechanism, _ major: UInt32, _ minor: UInt32
  ) -> GSSError.Status {
    let identifier = GSSIdentifier.of(mechanism).pointer
    // 1: GSS_C_GSS_CODE, 2: GSS_C_MECH_CODE.
    let texts = texts(major, 1, identifier) + (minor == 0 ? [] : texts(minor, 2, identifier))
    return GSSError.Status(major: major, minor: minor, text: texts.joined(separator: ": "))
  }

  private func texts(_ value: UInt32, _ kind: CInt, _ mechanism: Identifier) -> [String] {
    var texts: [String] = []
    var more: UInt32 = 0
    repeat {
      var minor: UInt32 = 0
      var buffer = clinux_gss_buffer()
      guard displayStatus(&minor, value, kind, mechanism, &more, &buffer) & GSSError.errorMask == 0 else { break }
      let text = String(decoding: take(&buffer), as: UTF8.self)
      if !text.isEmpty { texts.append(text) }
    } while more != 0 && texts.count < 8
    return texts
  }

  /// A copy of what is in a buffer of the library, which is given back.
  func take(_ buffer: inout clinux_gss_buffer) -> [UInt8] {
    let bytes = Array(UnsafeRawBufferPointer(start: buffer.value, count: buffer.value == nil ? 0 : buffer.length))
    var minor: UInt32 = 0
    _ = releaseBuffer(&minor, &buffer)
    return bytes
  }

  /// Calls `body` with the set of one mechanism.
  func withSet<Result>(of mechanism: GSSMechanism, _ body: (IdentifierSet) throws -> Result) rethrows -> Result {
    var set = clinux_gss_oid_set(count: 1, elements: GSSIdentifier.of(mechanism).pointer)
    return try body(&set)
  }

  /// Calls `body` with a buffer of the bytes, which the library only reads.
  static func withBuffer<Result>(
    _ bytes: UnsafeRawBufferPointer, _ body: (Buffer) throws -> Result
  ) rethrows -> Result {
    var buffer = clinux_gss_buffer(length: bytes.count, value: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    return try body(&buffer)
  }

  func name(_ text: String, _ kind: GSSIdentifier, _ mechanism: GSSMechanism) throws -> Name {
    var text = text
    var name: Name?
    _ = try text.withUTF8 { bytes in
      try Self.withBuffer(UnsafeRawBufferPointer(bytes)) { buffer in
        try check(.naming, mechanism) { importName($0, buffer, kind.pointer, &name) }
      }
    }
    guard let name else { throw GSSError.unavailable }
    return name
  }

  func release(name: Name?) {
    var name = name
    var minor: UInt32 = 0
    if name != nil { _ = releaseName(&minor, &name) }
  }

  func release(credential: Credential?) {
    var credential = credential
    var minor: UInt32 = 0
    if credential != nil { _ = releaseCredential(&minor, &credential) }
  }

  func release(context: Context?) {
    var context = context
    var minor: UInt32 = 0
    if context != nil { _ = deleteSecurityContext(&minor, &context, nil) }
  }
}
