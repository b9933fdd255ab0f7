/// The cache of a session.
package enum LoadCache: Sendable {
  case none
  case own(URLCache)
  /// The app's cache of the moment: the shared session's.
  case current

  var cache: URLCache? {
    switch self {
    case .none: nil
    case .own(let cache): cache
    case .current: .shared
    }
  }
}
