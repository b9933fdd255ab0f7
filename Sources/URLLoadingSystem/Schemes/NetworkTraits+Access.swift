import Foundation
import SystemServices

extension NetworkTraits {
  /// The kinds of network that a session must not use. Very narrow networks are not told apart: nothing says of a Linux
  /// machine's network that it is one.
  init(forbiddenBy configuration: URLSessionConfiguration) {
    self.init(
      cellular: configuration.allowsCellularAccess, expensive: configuration.allowsExpensiveNetworkAccess,
      constrained: configuration.allowsConstrainedNetworkAccess)
  }

  /// The kinds of network that a request must not use besides those that its session forbids.
  init(forbiddenBy request: URLRequest) {
    self.init(
      cellular: request.allowsCellularAccess, expensive: request.allowsExpensiveNetworkAccess,
      constrained: request.allowsConstrainedNetworkAccess)
  }

  private init(cellular: Bool, expensive: Bool, constrained: Bool) {
    // For each request: a list of no members would be read by a function for all kinds of sets.
    self.init(rawValue: 0)
    if !cellular { insert(.cellular) }
    if !expensive { insert(.expensive) }
    if !constrained { insert(.constrained) }
  }
}
