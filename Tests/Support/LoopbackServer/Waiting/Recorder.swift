/// A list that anyone may append to and a test may wait on: requests a server saw, calls a delegate got.
package final class Recorder<Element: Sendable>: Sendable {
  private struct Entries: Sendable {
    var all: [Element] = []
    /// How many of them ``next(within:)`` has handed out.
    var taken = 0
  }

  private let entries = Monitor(Entries())

  package init() {}

  package func record(_ element: Element) {
    entries.update { $0.all.append(element) }
  }

  /// Everything recorded so far, oldest first, whether or not ``next(within:)`` has handed it out.
  package var all: [Element] { entries.current.all }

  package var count: Int { entries.current.all.count }

  /// The oldest element not yet handed out; waits for it to be recorded. Throws ``WaitExpired`` after `limit`.
  package func next(within limit: Duration = patience) async throws -> Element {
    try await within(limit, "the next \(Element.self)") {
      try await self.entries.wait { entries -> Element? in
        guard entries.taken < entries.all.count else { return nil }
        defer { entries.taken += 1 }
        return entries.all[entries.taken]
      }
    }
  }

  /// Everything recorded, once that is at least `count` elements. Throws ``WaitExpired`` after `limit`.
  package func first(_ count: Int, within limit: Duration = patience) async throws -> [Element] {
    try await within(limit, "\(count) × \(Element.self)") {
      try await self.entries.wait { $0.all.count >= count ? Array($0.all.prefix(count)) : nil }
    }
  }
}
