/// Why a request was not carried out. Nothing of it was.
package struct Refusal: Codable, Sendable, Equatable, Error {
  package var reason: Reason
  /// A sentence for a person.
  package var message: String
  /// With `incompatibleVersion`: the side that has to be updated.
  package var mustUpdate: ProtocolVersions.Side?
  /// With `storage`: the service does not take the connection now, but may take one later. The program has as many as it may
  /// have, or could not be looked at.
  package var hasTooManyConnections: Bool?
  /// With `inUse`: whether the process that holds the session was started for events, and ends when it has handled them.
  package var holderIsOfLaunch: Bool?

  package init(_ reason: Reason, _ message: String, mustUpdate: ProtocolVersions.Side? = nil) {
    self.reason = reason
    self.message = message
    self.mustUpdate = mustUpdate
  }

  /// Services and apps of earlier versions know the reason, and ask again later.
  package static func tooManyConnections(_ message: String) -> Refusal {
    var refusal = Refusal(.storage, message)
    refusal.hasTooManyConnections = true
    return refusal
  }

  /// Of a connection whose program can't be looked at now. It is said as that of one that is too many: apps ask again later.
  package static func unknownProgram(_ message: String) -> Refusal { tooManyConnections(message) }

  package enum Reason: String, Codable, Sendable, CaseIterable {
    /// No version in common.
    case incompatibleVersion
    /// Another process holds the session (`URLError.backgroundSessionInUseByAnotherProcess`).
    case inUse
    /// This connection does not hold that session.
    case notAttached
    /// No such task or transfer, or it belongs to another app.
    case unknownTask
    /// The request contradicts itself or what was before it.
    case invalidRequest
    /// A body, a batch or a field is larger than the service takes.
    case tooLarge
    /// The service doesn't know this request.
    case unsupported
    /// The queue could not be written: a full or broken disk. Or the service has no place for further open files or connections now.
    case storage
    /// The service could not establish which program asks.
    case identity
    /// The service is about to end; connect again.
    case shuttingDown
    /// Only the user's own tool may ask for it.
    case notPermitted
    /// A reason of a newer service.
    case other

    package init(from decoder: any Decoder) throws {
      self = Reason(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .other
    }
  }
}
