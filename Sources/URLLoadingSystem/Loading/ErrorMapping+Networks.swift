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
      case .cellular?: "a cellular network"
      case .expensive?: "a network marked as expensive"
      default: "a network marked as constrained"
      }
    return "The server is reachable only over \(kind), which this request does not allow."
  }

  /// Of several reasons, the most specific one.
  private static func reason(_ traits: NetworkTraits) -> URLError.NetworkUnavailableReason? {
    traits.contains(.cellular)
      ? .cellular : traits.contains(.expensive) ? .expensive : traits.contains(.constrained) ? .constrained : nil
  }
}
