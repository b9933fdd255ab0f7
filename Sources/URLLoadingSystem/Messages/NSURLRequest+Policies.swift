import Foundation

extension NSURLRequest {
  /// How a load treats caches.
  public enum CachePolicy: UInt, Sendable {
    /// As the protocol says: for HTTP, RFC 9111.
    case useProtocolCachePolicy = 0
    /// Always load from the origin, ignoring what is stored here.
    case reloadIgnoringLocalCacheData = 1
    /// Use what is stored, however old; load when nothing is.
    case returnCacheDataElseLoad = 2
    /// Use what is stored, however old; fail when nothing is. Never touches the network.
    case returnCacheDataDontLoad = 3
    /// Always load from the origin, and tell proxies to do the same.
    case reloadIgnoringLocalAndRemoteCacheData = 4
    /// Use what is stored only when the origin confirms it.
    case reloadRevalidatingCacheData = 5

    /// The older name of `.reloadIgnoringLocalCacheData`.
    public static var reloadIgnoringCacheData: CachePolicy { .reloadIgnoringLocalCacheData }
  }

  /// The kind of traffic that a load is: a hint for the network, set as the mark of its packets (RFC 4594, RFC 8622).
  public enum NetworkServiceType: UInt, Sendable {
    /// Standard traffic, unmarked.
    case `default` = 0
    /// Voice over IP: CS5. Deprecated on Apple's systems in favour of PushKit.
    case voip = 1
    /// Video of a conversation: AF41.
    case video = 2
    /// Traffic that the user does not wait for: CS1.
    case background = 3
    /// Sound of a conversation: EF.
    case voice = 4
    /// Data that the user is waiting for: AF21.
    case responsiveData = 6
    /// Video or sound that is played while it arrives, with a buffer: AF31.
    case avStreaming = 8
    /// Video or sound that the user is waiting for: AF41.
    case responsiveAV = 9
    /// Messages that set up and end calls: CS5.
    case callSignaling = 11

    /// The name that Foundation for Linux has given `callSignaling`.
    public static var networkServiceTypeCallSignaling: NetworkServiceType { .callSignaling }
  }

  /// The party that chose the URL of a request.
  public enum Attribution: UInt, Sendable {
    /// The app's developer.
    case developer = 0
    /// The person using the app, for example by following a link.
    case user = 1
  }
}
