/// Which connections to the web page are open. When there are too many, one that did not sign in makes room: other users of
/// the machine can connect, but can't keep the page's own browser out.
package struct WebConnectionTable<ID: Hashable & Sendable>: Sendable {
  private struct Entry: Sendable {
    let id: ID
    var isSignedIn = false
  }

  /// Of all ports and addresses of the server together.
  package static var maximum: Int { 64 }

  /// By the time they were opened.
  private var entries: [Entry] = []

  package init() {}

  package var count: Int { entries.count }

  /// Returns a connection that is to be closed, which may be the new one.
  package mutating func opened(_ id: ID) -> ID? {
    entries.append(Entry(id: id))
    guard entries.count > Self.maximum, let index = entries.firstIndex(where: { !$0.isSignedIn }) else { return nil }
    return entries.remove(at: index).id
  }

  /// A request with the page's cookie came on the connection.
  package mutating func signedIn(_ id: ID) {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
    entries[index].isSignedIn = true
  }

  package mutating func closed(_ id: ID) { entries.removeAll { $0.id == id } }
}
