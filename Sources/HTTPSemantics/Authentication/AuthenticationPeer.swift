/// The server or proxy that asks for a credential.
package struct AuthenticationPeer: Sendable, Hashable {
  package let origin: HTTPOrigin
  package let isProxy: Bool

  package init(origin: HTTPOrigin, isProxy: Bool = false) {
    self.origin = origin
    self.isProxy = isProxy
  }
}
