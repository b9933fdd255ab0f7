import Foundation

/// The far end of a connection: the part of the Network framework's type that proxies need.
public enum NWEndpoint: Sendable, Hashable, CustomDebugStringConvertible {
  /// A port of a host, which is looked up when it is a name.
  case hostPort(host: Host, port: Port)
  /// A Unix-domain socket. A request through a proxy there fails: it is not supported.
  case unix(path: String)
  /// The host and the port of a URL.
  case url(URL)

  public var debugDescription: String {
    switch self {
    case .hostPort(let host, let port): "\(host):\(port)"
    case .unix(let path): path
    case .url(let url): url.absoluteString
    }
  }
}

extension NWEndpoint {
  /// A host by name or address.
  public struct Host: Sendable, Hashable, ExpressibleByStringLiteral, CustomDebugStringConvertible {
    package let name: String

    /// `string` is a name, an IPv4 address or an IPv6 address without brackets.
    public init(_ string: String) { name = string }

    public init(stringLiteral value: String) { name = value }

    public var debugDescription: String { name }
  }

  /// A port number.
  public struct Port: Sendable, Hashable, RawRepresentable, ExpressibleByIntegerLiteral, CustomDebugStringConvertible {
    public let rawValue: UInt16

    public init?(rawValue: UInt16) { self.rawValue = rawValue }

    /// A port from its decimal digits or the name of a well-known service; nil for anything else.
    public init?(_ service: String) {
      switch service {
      case "http": self = .http
      case "https": self = .https
      case "socks": self = .socks
      default:
        guard let number = UInt16(service) else { return nil }
        rawValue = number
      }
    }

    public init(integerLiteral value: UInt16) { rawValue = value }

    /// 0: any port.
    public static let any: Port = 0
    /// 80.
    public static let http: Port = 80
    /// 443.
    public static let https: Port = 443
    /// 1080.
    public static let socks: Port = 1080

    public var debugDescription: String { String(rawValue) }
  }
}

extension NWEndpoint.Host: CustomStringConvertible {
  public var description: String { name }
}

extension NWEndpoint.Port: CustomStringConvertible {
  public var description: String { String(rawValue) }
}

/// The Network framework's name space for TLS.
public enum NWProtocolTLS {
  /// How TLS is spoken to a proxy. There is nothing to set yet: the defaults are the session's.
  public final class Options: Sendable {
    /// The defaults.
    public init() {}
  }
}
