/// The decision about a response that may be a redirect.
package enum RedirectDecision: Sendable, Equatable {
  /// The response is the result.
  case notARedirect
  case follow(Redirect)
  /// One redirect more than are followed.
  case tooMany
  /// A redirect that names no target, or several.
  case missingLocation
  /// The target is not an http or https URL with a host, nor of the socket that answered: nothing to follow, but something to
  /// ask the client about.
  case unsupportedTarget(Redirect)
}

/// The request that a redirect asks for, as changes to the one that was redirected.
package struct Redirect: Sendable, Equatable {
  package var method: String
  package var keepsBody: Bool
  /// An absolute URL in which everything but the host is ASCII.
  package var target: String
  /// Whether scheme, host or port are others than before: no credential of the old origin may be used.
  package var changesOrigin: Bool
  /// The names of the fields that may not travel on.
  package var removedFields: [String]

  package init(method: String, keepsBody: Bool, target: String, changesOrigin: Bool, removedFields: [String]) {
    self.method = method
    self.keepsBody = keepsBody
    self.target = target
    self.changesOrigin = changesOrigin
    self.removedFields = removedFields
  }
}
