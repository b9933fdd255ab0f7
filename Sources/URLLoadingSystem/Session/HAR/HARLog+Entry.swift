import Foundation

extension HARLog {
  /// One request and its response.
  public struct Entry: Codable, Sendable, Equatable {
    /// When fetching began: ISO 8601 with milliseconds, in UTC.
    public var startedDateTime: String
    /// How long everything took, in milliseconds: the sum of `timings`, TLS counted once.
    public var time: Double
    /// The request as it was sent.
    public var request: Request
    /// Status 0 when none arrived.
    public var response: Response
    /// Always empty: what a cache held is not known here.
    public var cache = Cache()
    /// How long each phase took.
    public var timings: Timings
    /// The address of the server; nil without a connection.
    public var serverIPAddress: String?
    /// Equal for entries on one connection: its port on this side. nil without a connection.
    public var connection: String?
    /// Text for which the format has no place; nil when there is nothing to say.
    public var comment: String?

    /// The place of the format for what a cache held.
    public struct Cache: Codable, Sendable, Equatable {
      /// A cache of which nothing is known.
      public init() {}
    }
  }

  /// A request.
  public struct Request: Codable, Sendable, Equatable {
    /// The request method, such as GET.
    public var method: String
    /// The URL; without a name and a password where credentials are left out.
    public var url: String
    /// The protocol, `HTTP/1.1` or `HTTP/2`; empty when nothing was spoken.
    public var httpVersion: String
    /// The cookies that were sent.
    public var cookies: [Cookie]
    /// The header fields in the order in which they were sent.
    public var headers: [NameAndValue]
    /// The parts of the URL's query, percent-decoded where that gives text.
    public var queryString: [NameAndValue]
    /// Bytes of the head as sent; -1 when nothing was sent.
    public var headersSize: Int64
    /// Bytes of the body as sent, framing included; -1 when nothing was sent.
    public var bodySize: Int64
  }

  /// A response.
  public struct Response: Codable, Sendable, Equatable {
    /// The status code; 0 when no response arrived.
    public var status: Int
    /// The reason phrase; empty where the protocol has none.
    public var statusText: String
    /// The protocol, `HTTP/1.1` or `HTTP/2`; empty when nothing was spoken.
    public var httpVersion: String
    /// The cookies that the response sets.
    public var cookies: [Cookie]
    /// The header fields in the order in which they were received.
    public var headers: [NameAndValue]
    /// The size and the type of the body. The body itself is not kept.
    public var content: Content
    /// The target of a redirect, as the server wrote it; else empty.
    public var redirectURL: String
    /// Bytes of the head as received; -1 when there is none.
    public var headersSize: Int64
    /// Bytes of the body as received, framing and codings included; -1 when there is none.
    public var bodySize: Int64
  }

  /// The body of a response, without its bytes.
  public struct Content: Codable, Sendable, Equatable {
    /// Bytes of the body as the app got it.
    public var size: Int64
    /// Bytes saved by compression; nil when nothing was received.
    public var compression: Int64?
    /// With its parameters; `application/octet-stream` when the response does not say.
    public var mimeType: String
  }

  /// A header field, or a part of a query.
  public struct NameAndValue: Codable, Sendable, Equatable {
    /// The name.
    public var name: String
    /// The value.
    public var value: String
  }

  /// A cookie that was sent or set.
  public struct Cookie: Codable, Sendable, Equatable {
    /// The name.
    public var name: String
    /// The value; `(not shown)` where credentials are left out.
    public var value: String
    /// The path at and below which it is sent; nil when none was given.
    public var path: String?
    /// The domain that gets it; nil when none was given.
    public var domain: String?
    /// ISO 8601; nil for the cookie of a session.
    public var expires: String?
    /// Whether it is not for scripts; nil when that is not known.
    public var httpOnly: Bool?
    /// Whether it is only sent over TLS; nil when that is not known.
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
    /// Sending the request.
    public var send: Double
    /// From the request's last byte to the response's first.
    public var wait: Double
    /// From the response's first byte to its last.
    public var receive: Double

    /// The phases in milliseconds, -1 for what did not take place.
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
