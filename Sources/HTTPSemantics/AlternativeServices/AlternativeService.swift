/// One alternative that a server offers in Alt-Svc (RFC 7838 §3): another protocol, at another place.
package struct AlternativeService: Sendable, Hashable {
  /// The protocol's ALPN name: `h3`, `h2`.
  package var protocolName: String
  /// nil means the origin's own host.
  package var host: String?
  package var port: Int
  /// Seconds, from when the response was made. 24 hours unless the server says otherwise.
  package var maxAge: Int64 = 86_400
  /// Whether it stays valid on another network.
  package var persists = false

  package init(protocolName: String, host: String?, port: Int) {
    self.protocolName = protocolName
    self.host = host
    self.port = port
  }

  /// The content of a value of the field.
  package enum Announcement: Sendable, Equatable {
    /// Forget every alternative of the origin.
    case clear
    /// These alternatives, best first, replace what was known.
    case services([AlternativeService])
  }

  /// Reads a field's value: `h3=":443"; ma=3600, h2="alt.example:8443"`, or `clear`. Alternatives that are not well
  /// formed are left out, their parameters that are unknown are ignored (RFC 7838 §3.1). nil when nothing can be read.
  package static func read(_ value: String) -> Announcement? {
    // RFC 7838 §3: "clear" is case-sensitive.
    if value.trimmingHTTPWhitespace() == "clear" { return .clear }
    let services = members(of: value).compactMap(service)
    return services.isEmpty ? nil : .services(services)
  }

  /// Splits at the commas that are outside quotes.
  private static func members(of value: String) -> [ArraySlice<UInt8>] {
    var members: [ArraySlice<UInt8>] = []
    let bytes = Array(value.utf8)
    var start = 0
    var isQuoted = false
    var isEscaped = false
    for (index, byte) in bytes.enumerated() {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == UInt8(ascii: ","), !isQuoted {
        members.append(bytes[start..<index])
        start = index + 1
      }
    }
    members.append(bytes[start...])
    return members
  }

  private static func service(_ member: ArraySlice<UInt8>) -> AlternativeService? {
    // The alternative itself has the form of a parameter, so that it is the first of them; its name keeps its case.
    let trimmed = member.drop(while: \.isHTTPWhitespace)
    guard let equals = trimmed.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let encodedName = trimmed[..<equals]
    guard !encodedName.isEmpty, encodedName.allSatisfy(\.isToken),
      let name = percentDecoded(encodedName, lenient: false)
    else { return nil }
    let parameters = FieldParameters(parsing: member, endsAtComma: false)
    guard let authority = parameters.all.first?.value, let (host, port) = HostAndPort.split(authority), let port else {
      return nil
    }
    var service = AlternativeService(
      protocolName: String(decoding: name, as: UTF8.self), host: host.isEmpty ? nil : host.asciiLowercased(),
      port: port)
    for parameter in parameters.all.dropFirst() {
      switch parameter.name {
      case "ma": if let age = Int64(decimalDigits: parameter.value.utf8) { service.maxAge = age }
      case "persist": service.persists = parameter.value == "1"
      default: break
      }
    }
    return service
  }
}
