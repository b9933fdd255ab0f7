/// Sets how fast the transfers of an app, or of one of its sessions, may run together. Only the user's own tool may set it for
/// another app than its own.
///
/// A request of its own and no field of `LimitTransfers`: a service that does not know it refuses it, while it would pass over
/// a field and limit the app that asks.
package struct LimitApp: Codable, Sendable, Equatable {
  /// The path of the app's program, as lists show it.
  package var app: String
  /// The identifier of a session of the app; nil: all of them.
  package var session: String?
  /// As in `LimitTransfers`.
  package var limit: BandwidthLimit

  package init(app: String, session: String? = nil, limit: BandwidthLimit) {
    (self.app, self.session, self.limit) = (app, session, limit)
  }
}
