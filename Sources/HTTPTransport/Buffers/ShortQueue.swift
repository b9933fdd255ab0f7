import DequeModule

/// A queue that mostly has one element, for which it takes no memory of its own.
package struct ShortQueue<Element> {
  @usableFromInline var first: Element?
  /// Empty where there is no first one.
  @usableFromInline var others = Deque<Element>()

  @inlinable package init() {}

  @inlinable package var isEmpty: Bool { first == nil }

  @inlinable package var last: Element? { others.last ?? first }

  @inlinable
  package mutating func append(_ element: Element) {
    if first == nil { first = element } else { others.append(element) }
  }

  @inlinable
  package mutating func popFirst() -> Element? {
    defer { first = others.popFirst() }
    return first.take()
  }

  @inlinable package mutating func popLast() -> Element? { others.popLast() ?? first.take() }
}

extension ShortQueue: Sendable where Element: Sendable {}
