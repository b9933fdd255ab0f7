import Foundation

extension URLSessionWebSocketTask {
  /// A WebSocket message.
  public enum Message: Sendable {
    /// Bytes.
    case data(Data)
    /// Text.
    case string(String)
  }

  /// Why a WebSocket connection is closed (RFC 6455 §7.4.1). Codes without a name here, such as the 4000 to 4999 that
  /// applications define for themselves, are made with `CloseCode(rawValue:)`, which never gives nil.
  public enum CloseCode: RawRepresentable, Sendable, Hashable {
    /// Not closed.
    case invalid
    /// 1000: the purpose of the connection is fulfilled.
    case normalClosure
    /// 1001: the server stops, or the user has left.
    case goingAway
    /// 1002: the other side has broken the protocol.
    case protocolError
    /// 1003: a kind of message that is not accepted.
    case unsupportedData
    /// The close frame had no code. Can't be sent.
    case noStatusReceived
    /// There was no close frame. Can't be sent.
    case abnormalClosure
    /// 1007: a message that is not what its kind says, such as text that is not UTF-8.
    case invalidFramePayloadData
    /// 1008: a message that a rule of this side forbids.
    case policyViolation
    /// 1009: a message that is too long.
    case messageTooBig
    /// 1010: the server has not agreed to an extension that the client needs.
    case mandatoryExtensionMissing
    /// 1011: the server can't go on.
    case internalServerError
    /// Can't be sent.
    case tlsHandshakeFailure
    /// Any other code. Use `init(rawValue:)`.
    case other(Int)

    public init?(rawValue: Int) { self = CloseCode.named[rawValue] ?? .other(rawValue) }

    init(_ code: UInt16) { self = CloseCode.named[Int(code)] ?? .other(Int(code)) }

    public var rawValue: Int {
      switch self {
      case .invalid: 0
      case .normalClosure: 1000
      case .goingAway: 1001
      case .protocolError: 1002
      case .unsupportedData: 1003
      case .noStatusReceived: 1005
      case .abnormalClosure: 1006
      case .invalidFramePayloadData: 1007
      case .policyViolation: 1008
      case .messageTooBig: 1009
      case .mandatoryExtensionMissing: 1010
      case .internalServerError: 1011
      case .tlsHandshakeFailure: 1015
      case .other(let code): code
      }
    }

    public static func == (left: CloseCode, right: CloseCode) -> Bool { left.rawValue == right.rawValue }

    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    private static let named: [Int: CloseCode] = Dictionary(
      uniqueKeysWithValues: [
        CloseCode.invalid, .normalClosure, .goingAway, .protocolError, .unsupportedData, .noStatusReceived,
        .abnormalClosure, .invalidFramePayloadData, .policyViolation, .messageTooBig, .mandatoryExtensionMissing,
        .internalServerError, .tlsHandshakeFailure,
      ].map { ($0.rawValue, $0) })
  }
}
