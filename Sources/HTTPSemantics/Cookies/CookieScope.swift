/// The hosts that a cookie is for.
package enum CookieScope: Sendable, Equatable {
  /// The host alone that set it.
  case host
  /// A domain and all hosts below it.
  case domain
  /// None: the host may not set such a cookie.
  case refused
}
