import CLinux
import Foundation

/// The server's side of an authentication, with the keytab of the environment.
final class GSSAcceptor {
  struct Refused: Error, CustomStringConvertible {
    let status: UInt32
    /// Its routine error (RFC 2744 §3.9.1): 4 is GSS_S_BAD_BINDINGS.
    var description: String { "the acceptor refused: \(status >> 16 & 0xff)" }
  }

  private typealias Buffer = UnsafeMutablePointer<clinux_gss_buffer>
  private typealias Accept =
    @convention(c) (
      UnsafeMutablePointer<UInt32>, UnsafeMutablePointer<OpaquePointer?>, OpaquePointer?, Buffer,
      UnsafeMutablePointer<clinux_gss_channel_bindings>?, UnsafeMutablePointer<OpaquePointer?>,
      UnsafeMutableRawPointer?,
      Buffer, UnsafeMutablePointer<UInt32>?, UnsafeMutablePointer<UInt32>?, UnsafeMutableRawPointer?
    ) -> UInt32
  private typealias Display =
    @convention(c) (UnsafeMutablePointer<UInt32>, OpaquePointer, Buffer, UnsafeMutableRawPointer?) -> UInt32

  private let acceptToken: Accept
  private let displayName: Display
  private let bindings: [UInt8]?
  private var context: OpaquePointer?
  private var name: OpaquePointer?
  private(set) var isComplete = false

  /// Whether the initiator has named the same channel.
  private(set) var isBound = false

  /// GSS_C_CHANNEL_BOUND_FLAG, of MIT Kerberos 1.19 and later.
  private static let bound: UInt32 = 2048

  /// nil without the library.
  ///
  /// - Parameter bindings: the hash of `tls-server-end-point`; nil for none.
  init?(bindings: [UInt8]?) {
    guard let library = dlopen("libgssapi_krb5.so.2", RTLD_NOW | RTLD_LOCAL),
      let accept = dlsym(library, "gss_accept_sec_context"), let display = dlsym(library, "gss_display_name")
    else { return nil }
    acceptToken = unsafeBitCast(accept, to: Accept.self)
    displayName = unsafeBitCast(display, to: Display.self)
    self.bindings = bindings.map { Array("tls-server-end-point:".utf8) + $0 }
  }

  func accept(_ token: [UInt8]) throws -> [UInt8] {
    var token = token
    var data = bindings ?? []
    var minor: UInt32 = 0
    var flags: UInt32 = 0
    var output = clinux_gss_buffer()
    let major = token.withUnsafeMutableBytes { token in
      data.withUnsafeMutableBytes { data in
        var input = clinux_gss_buffer(length: token.count, value: token.baseAddress)
        var channel = clinux_gss_channel_bindings()
        channel.application_data = clinux_gss_buffer(length: data.count, value: data.baseAddress)
        return withUnsafeMutablePointer(to: &channel) { channel in
          acceptToken(
            &minor, &context, nil, &input, bindings == nil ? nil : channel, &name, nil, &output, &flags, nil, nil)
        }
      }
    }
    guard major & 0xffff_0000 == 0 else { throw Refused(status: major) }
    isComplete = major & 1 == 0
    isBound = flags & Self.bound != 0
    return Array(UnsafeRawBufferPointer(start: output.value, count: output.length))
  }

  /// The name of the one that proved its identity.
  func initiator() throws -> String {
    guard let name else { return "" }
    var minor: UInt32 = 0
    var output = clinux_gss_buffer()
    let major = displayName(&minor, name, &output, nil)
    guard major & 0xffff_0000 == 0 else { throw Refused(status: major) }
    // gss-ntlmssp counts the end of the text too.
    let bytes = UnsafeRawBufferPointer(start: output.value, count: output.length).filter { $0 != 0 }
    return String(decoding: bytes, as: UTF8.self)
  }
}
