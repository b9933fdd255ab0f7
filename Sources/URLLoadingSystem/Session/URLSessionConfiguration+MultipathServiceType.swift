import Foundation

extension URLSessionConfiguration {
  /// Whether a session speaks multipath TCP (RFC 8684).
  ///
  /// Every type but `.none` speaks it where both ends can, and plain TCP where not. The path manager of the kernel says
  /// which paths are used, whatever the type.
  public enum MultipathServiceType: Int, Sendable {
    /// Plain TCP.
    case none = 0
    /// On Apple's systems: a second path is used only when the first fails.
    case handover = 1
    /// On Apple's systems: the path with the lower delay is used.
    case interactive = 2
    /// On Apple's systems: all paths are used at once, for development only.
    case aggregate = 3
  }
}
