import Foundation

extension URLSessionConfiguration {
  /// How a session uses multipath TCP.
  public enum MultipathServiceType: Int, Sendable {
    /// Not at all.
    case none = 0
    /// A second path is used only when the first fails.
    case handover = 1
    /// The path with the lower delay is used.
    case interactive = 2
    /// All paths are used at once. For development only on Apple's systems.
    case aggregate = 3
  }
}
