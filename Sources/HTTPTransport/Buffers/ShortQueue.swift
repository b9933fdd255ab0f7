import DequeModule

/// A queue that mostly has one element, for which it takes no memory of its own.
struct ShortQueue<Element> {
  private var first: Element?
  /// Empty where there is no first one.
  private var others = Deque<Element>()

  var isEmpty: Bool { first == nil }

  var last: Element? { others.last ?? first }

  mutating func append(_ element: Element) {
    if first == nil { first = element } else { others.append(element) }
  }

  mutating func popFirst() -> Element? {
    defer { first = others.popFirst() }
    return first.take()
  }

  mutating func popLast() -> Element? { others.popLast() ?? first.take() }
}

extension ShortQueue: Sendable where Element: Sendable {}
