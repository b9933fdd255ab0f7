/// How fast bytes may arrive, at all times or in some hours of each day.
package struct BandwidthLimit: Codable, Sendable, Hashable {
  /// Lower rates would keep a connection open for nothing: suspending a transfer is the way to stop it.
  package static let lowest: Int64 = 1_024
  /// How many a subject may have.
  package static let maximumCount = 24

  /// nil: as fast as they can.
  package var bytesPerSecond: Int64?
  /// nil: at all times for which no other limit of the same subject is.
  package var hours: DailyHours?

  package init(bytesPerSecond: Int64?, hours: DailyHours? = nil) {
    (self.bytesPerSecond, self.hours) = (bytesPerSecond, hours)
  }
}

/// The transfers that share a limit.
package enum LimitScope: String, Codable, Sendable, CaseIterable {
  case transfer, session, app
  /// Everything that the service transfers for the user.
  case service
}

/// A limit that holds for a transfer, as a list shows it.
package struct TransferLimit: Codable, Sendable, Equatable {
  /// The name of a `LimitScope`; a newer service may have others.
  package var scope: String
  package var limit: BandwidthLimit

  package init(scope: LimitScope, limit: BandwidthLimit) { (self.scope, self.limit) = (scope.rawValue, limit) }
}
