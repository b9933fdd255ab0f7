import Foundation

extension HARLog {
  /// One request and its response.
  public struct Entry: Codable, Sendable, Equatable {
    /// When fetching began: ISO 8601 with milliseconds, in UTC.
    public var startedDateTime: String
    /// How long everything took, in milliseconds: the sum of `timings`, TLS counted once.
    public var time: Double
    public var request: Request
    /// Status 0 when none arrived.
    public var response: Response
    /// Always empty: what a cache held is not known here.
    public var cache = Cache()
    public var timings: Timings
    /// The address of the server; nil without a connection.
    public var serverIPAddress: String?
    /// Equal for entries on one connection: its port on this side. nil without a connection.
    public var connection: String?
    /// Text for which the format has no place; nil when there is nothing to say.
    public var comment: String?

    public struct Cache: Codable, Sendable, Equatable {
      public init() {}
    }
  }

  public struct Request: Codable, Sendable, Equatable {
    public var method: String
    public var url: String
    public var httpVersion: String
    public var cookies: [Cookie]
    public var headers: [NameAndValue]
    public var queryString: [NameAndValue]
    /// Bytes of the head as sent; -1 when nothing was sent.
    public var headersSize: Int64
    /// Bytes of the body as sent, framing included; -1 when nothing was sent.
    public var bodySize: Int64
  }

  public struct Response: Codable, Sendable, Equatable {
    public var status: Int
    public var statusText: String
    public var httpVersion: String
    public var cookies: [Cookie]
    public var headers: [NameAndValue]
    public var content: Content
    /// The target of a redirect, as the server wrote it; else empty.
    public var redirectURL: String
    /// Bytes of the head as received; -1 when there is none.
    public var headersSize: Int64
    /// Bytes of the body as received, framing and codings included; -1 when there is none.
    public var bodySize: Int64
  }

  public struct Content: Codable, Sendable, Equatable {
    /// Bytes of the body as the app got it.
    public var size: Int64
    /// Bytes saved by compression; nil when nothing was received.
    public var compression: Int64?
    /// With its parameters; `application/octet-stream` when the response does not say.
    public var mimeType: String
  }

  public struct NameAndValue: Codable, Sendable, Equatable {
    public var name: String
    public var value: String
  }

  public struct Cookie: Codable, Sendable, Equatable {
    public var name: String
    public var value: String
    public var path: String?
    public var domain: String?
    /// ISO 8601; nil for the cookie of a session.
    public var expires: String?
    public var httpOnly: Bool?
    public var secure: Bool?
  }

  /// Milliseconds; -1 for what did not take place.
  public struct Timings: Codable, Sendable, Equatable {
    /// Waiting for a connection, and whatever is in no other phase.
    public var blocked: Double
    /// Resolving the name.
    public var dns: Double
    /// Connecting, TLS included.
    public var connect: Double
    /// The TLS handshake.
    public var ssl: Double
    public var send: Double
    /// From the request's last byte to the response's first.
    public var wait: Double
    public var receive: Double

    public init(
      blocked: Double, dns: Double, connect: Double, ssl: Double, send: Double, wait: Double, receive: Double
    ) {
      self.blocked = blocked
      self.dns = dns
      self.connect = connect
      self.ssl = ssl
      self.send = send
      self.wait = wait
      self.receive = receive
    }

    /// Everything, TLS counted once.
    public var total: Double { [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1) } }
  }
}
