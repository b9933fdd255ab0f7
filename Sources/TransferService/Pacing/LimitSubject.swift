/// The transfers that share a limit.
package enum LimitSubject: Hashable, Sendable {
  case transfer(TransferID)
  /// A transfer, as its app wants it.
  case task(TransferID)
  case session(SessionID)
  /// A session, as its app wants it.
  case configuration(SessionID)
  case app(AppID)
  case service
}
