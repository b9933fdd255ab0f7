import HTTPSemantics
import HTTPTransport

extension HTTPRequestHead {
  /// The head of a request as its connection gets it: the run's fields, and those that belong to the connection.
  ///
  /// - Parameter change: how the load's other protocol is asked for, where it wants one.
  init(of run: PipelineRun, method: String, target: HTTPTarget, change: ProtocolChange? = nil) {
    let context = run.context
    var fields = run.fields
    if HTTPRequestHead.mustChange(fields) {
      fields.fields.removeAll { HTTPRequestHead.isOwnedByTheLoader($0.name) }
      fields.unfold()
    }
    if let hop = target.key.proxy, hop.use == .forward {
      if case .field(let value) = hop.authorization { fields.append("Proxy-Authorization", value) }
      if let value = run.network?.proxyAuthorization { fields.append("Proxy-Authorization", value) }
    }
    if let upgrade = context.upgrade, let change {
      if change == .upgrade {
        fields.append("Connection", "Upgrade")
        fields.append("Upgrade", upgrade.name)
      }
      for field in upgrade.fields(run.request.urlRequest.headerFields, change).fields {
        fields[field.name] = field.value
      }
    }
    self.init(
      method: method, target: target.requestTarget, authority: target.authority,
      scheme: target.key.scheme == .https ? "https" : "http", fields: fields)
    if change == .extendedConnect, let upgrade = context.upgrade {
      self.method = "CONNECT"
      connectProtocol = upgrade.name
    }
  }

  /// Whether a field is not to be sent, or not as it is. Asked before anything is changed, since most requests share one list,
  /// which a change would copy.
  private static func mustChange(_ fields: HTTPFields) -> Bool {
    let fields = fields.fields
    for index in fields.indices where isOwnedByTheLoader(fields[index].name) || fields[index].value.hasCarriageReturn {
      return true
    }
    return false
  }

  /// The loader owns the connection and the framing; what the app says of them would contradict the wire. RFC 9110 §11.7.2:
  /// what is meant for a proxy is not told to a server, be it behind a tunnel or reached directly.
  private static func isOwnedByTheLoader(_ name: String) -> Bool {
    // Asked for every field of every request: the length settles most.
    switch name.utf8.count {
    case 2: asciiCaseInsensitiveEqual(name, "TE")
    case 4: asciiCaseInsensitiveEqual(name, "Host")
    case 7: asciiCaseInsensitiveEqual(name, "Upgrade")
    case 10: asciiCaseInsensitiveEqual(name, "Connection") || asciiCaseInsensitiveEqual(name, "Keep-Alive")
    case 14: asciiCaseInsensitiveEqual(name, "Content-Length")
    case 16: asciiCaseInsensitiveEqual(name, "Proxy-Connection")
    case 17: asciiCaseInsensitiveEqual(name, "Transfer-Encoding")
    case 19: asciiCaseInsensitiveEqual(name, "Proxy-Authorization")
    default: false
    }
  }
}

extension HTTPFields {
  /// Puts values that were folded into one line. What can't be sent at all stays, and the encoder refuses it.
  fileprivate mutating func unfold() {
    for index in fields.indices where fields[index].value.hasCarriageReturn {
      guard case .success(let field) = FieldValidation.sanitized(name: fields[index].name, value: fields[index].value)
      else { continue }
      fields[index] = field
    }
  }
}

extension String {
  fileprivate var hasCarriageReturn: Bool {
    utf8.withContiguousStorageIfAvailable { $0.contains(0x0D) } ?? utf8.contains(0x0D)
  }
}
