/// The words of the TLS library's failures.
enum TLSFailureText {
  /// `error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at …` becomes
  /// `certificate verify failed`; what has no such part is left as it is.
  static func reason(of error: any Error) -> String {
    let text = "\(error)"
    guard let marker = text.firstRange(of: "OPENSSL_internal:") else { return text }
    let name = text[marker.upperBound...].prefix { $0.isUppercase || $0.isNumber || $0 == "_" }
    return name.isEmpty ? text : name.lowercased().replacing("_", with: " ")
  }
}
