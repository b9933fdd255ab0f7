/// The versions of the protocol between an app and the transfer service.
///
/// A connection opens with `hello`, in which the app names the oldest and the newest version it speaks. The service
/// answers with the newest version that both speak, or refuses and says which side has to be updated. Within a
/// version, messages may gain optional fields, requests, pushes, events and names of states and kinds: a side ignores fields
/// that it does not know, refuses requests that it does not know with `unsupported`, skips pushes that it does not know, and
/// acknowledges events that it does not know.
package struct ProtocolVersions: Codable, Sendable, Hashable {
  package var minimum: Int
  package var maximum: Int

  package init(minimum: Int, maximum: Int) {
    self.minimum = minimum
    self.maximum = maximum
  }

  /// The versions that this build's service speaks.
  package static let ofService = ProtocolVersions(minimum: 1, maximum: 4)
  /// The versions that this build's library speaks. A service of version 1 ignores `requiresDNSSECValidation` and
  /// `proxyConfigurations`, so an app that relies on them must not be served by one. One of version 2 asks the app nothing.
  /// One of version 3 does not check what a file is, so the library gives it no task with an expectation.
  package static let ofApp = ProtocolVersions(minimum: 2, maximum: 4)

  /// The version from which on a service puts challenges to the app.
  package static let ofChallenges = 3
  /// The version from which on a service checks that files are what apps expect.
  package static let ofExpectations = 4
  /// The version from which on a service tells why tasks wait.
  package static let ofWaitingReasons = 4

  package enum Agreement: Sendable, Equatable {
    case speak(Int)
    /// No version in common; this side is the older one.
    case mustUpdate(Side)
  }

  package enum Side: String, Codable, Sendable {
    case app, service
  }

  /// The answer of a service that speaks `self` to an app that speaks `app`.
  package func agreement(withApp app: ProtocolVersions) -> Agreement {
    // A range that is upside down says nothing sensible; the app has to be updated.
    guard app.minimum <= app.maximum else { return .mustUpdate(.app) }
    if app.maximum < minimum { return .mustUpdate(.app) }
    if app.minimum > maximum { return .mustUpdate(.service) }
    return .speak(min(app.maximum, maximum))
  }
}
