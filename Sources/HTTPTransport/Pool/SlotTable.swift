/// Values in a table, found by IDs without hashing. An ID of a removed value is never given to another value.
struct SlotTable<Element> {
  struct ID: Hashable, Sendable {
    let index: Int32
    fileprivate let generation: UInt32
  }

  private struct Slot {
    var generation: UInt32 = 0
    var element: Element?
  }

  private var slots: [Slot] = []
  private var free: [Int32] = []

  var count: Int { slots.count - free.count }

  mutating func insert(_ element: Element) -> ID {
    guard let index = free.popLast() else {
      slots.append(Slot(element: element))
      return ID(index: Int32(slots.count - 1), generation: 0)
    }
    slots[Int(index)].element = element
    return ID(index: index, generation: slots[Int(index)].generation)
  }

  /// The value of `id`, to be read and changed in place. nil where it was removed; a change then has no effect.
  subscript(id: ID) -> Element? {
    _read { if contains(id) { yield slots[Int(id.index)].element } else { yield nil } }
    _modify {
      var none: Element?
      if contains(id) { yield &slots[Int(id.index)].element } else { yield &none }
    }
  }

  @discardableResult mutating func remove(_ id: ID) -> Element? {
    guard contains(id) else { return nil }
    defer {
      slots[Int(id.index)].element = nil
      slots[Int(id.index)].generation &+= 1
      free.append(id.index)
    }
    return slots[Int(id.index)].element
  }

  mutating func removeAll() { for id in ids { remove(id) } }

  /// The IDs of all values, in the order of the table.
  var ids: [ID] {
    slots.indices.compactMap { index in
      slots[index].element == nil ? nil : ID(index: Int32(index), generation: slots[index].generation)
    }
  }

  private func contains(_ id: ID) -> Bool {
    slots.indices.contains(Int(id.index)) && slots[Int(id.index)].generation == id.generation
  }
}
