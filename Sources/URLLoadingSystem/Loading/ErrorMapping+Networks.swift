import Foundation
import SystemServices

extension ErrorMapping {
  /// There is a network, and the session or the request does not allow it.
  static func forbiddenNetwork(_ traits: NetworkTraits) -> URLError {
    var userInfo: [String: Any] = [NSLocalizedDescriptionKey: phrase(ofForbidden: traits)]
    userInfo[NSURLErrorNetworkUnavailableReasonKey] = reason(traits)?.rawValue
    return URLError(.notConnectedToInternet, userInfo: userInfo)
  }

  static func phrase(ofForbidden traits: NetworkTraits) -> String {
    let kind =
      switch reason(traits) {
      case .cellular?: "a mobile network"
      case .expensive?: "one that costs money"
      default: "one to be sparing with"
      }
    return "The only network to the server is \(kind), which may not be used."
  }

  /// Of several, the one that says most.
  private static func reason(_ traits: NetworkTraits) -> URLError.NetworkUnavailableReason? {
    traits.contains(.cellular)
      ? .cellular : traits.contains(.expensive) ? .expensive : traits.contains(.constrained) ? .constrained : nil
  }
}
