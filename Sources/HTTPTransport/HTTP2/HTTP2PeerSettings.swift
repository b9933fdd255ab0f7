/// The server's SETTINGS (RFC 9113 §6.5.2); before they arrive, the protocol's defaults.
package struct HTTP2PeerSettings: Equatable, Sendable {
  /// nil before the first SETTINGS. The protocol's default is no limit, which no server means.
  package private(set) var maximumConcurrentStreams: Int?
  package private(set) var initialWindow = 65_535
  package private(set) var frameBytes = 16_384
  package private(set) var headerTableBytes = 4_096
  /// The smallest that `headerTableBytes` was in the last SETTINGS: it may be there several times.
  package private(set) var smallestHeaderTableBytes = 4_096
  /// RFC 8441: whether WebSockets can be opened with an extended CONNECT.
  package private(set) var enablesConnectProtocol = false

  package init() {}

  /// Whether the server has sent SETTINGS.
  package var isKnown: Bool { maximumConcurrentStreams != nil }

  /// The server is taken to accept so many before it said, and where it says no limit (RFC 9113 §6.5.2 recommends no
  /// smaller one).
  package static let assumedConcurrentStreams = 100

  /// Takes over what SETTINGS says. Unknown parameters are ignored.
  package mutating func apply(_ settings: [HTTP2Setting]) throws(HTTP2ConnectionError) {
    smallestHeaderTableBytes = headerTableBytes
    for setting in settings {
      switch setting.identifier {
      case HTTP2Setting.headerTableSize:
        headerTableBytes = Int(setting.value)
        smallestHeaderTableBytes = min(smallestHeaderTableBytes, headerTableBytes)
      case HTTP2Setting.maximumConcurrentStreams: maximumConcurrentStreams = Int(min(setting.value, 1_000_000))
      case HTTP2Setting.initialWindowSize:
        guard setting.value <= 0x7fff_ffff else {
          throw HTTP2ConnectionError(.flowControlError, "SETTINGS_INITIAL_WINDOW_SIZE is out of range.")
        }
        initialWindow = Int(setting.value)
      case HTTP2Setting.maximumFrameSize:
        guard (16_384...16_777_215).contains(setting.value) else {
          throw HTTP2ConnectionError(.protocolError, "SETTINGS_MAX_FRAME_SIZE is out of range.")
        }
        frameBytes = Int(setting.value)
      case HTTP2Setting.enablePush:
        // RFC 9113 §6.5.2: a server may say 0 and nothing else.
        guard setting.value == 0 else {
          throw HTTP2ConnectionError(.protocolError, "The server announces SETTINGS_ENABLE_PUSH.")
        }
      case HTTP2Setting.enableConnectProtocol:
        guard setting.value <= 1, !(enablesConnectProtocol && setting.value == 0) else {
          throw HTTP2ConnectionError(.protocolError, "SETTINGS_ENABLE_CONNECT_PROTOCOL is out of range.")
        }
        enablesConnectProtocol = setting.value == 1
      default: continue
      }
    }
    if maximumConcurrentStreams == nil { maximumConcurrentStreams = Int(Int32.max) }
  }
}
