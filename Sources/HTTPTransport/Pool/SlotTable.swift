/// Values in a table, found by IDs without hashing. An ID of a removed value is never given to another value.
package struct SlotTable<Element> {
  package struct ID: Hashable, Sendable {
    let index: Int32
    fileprivate let generation: UInt32
  }

  private struct Slot {
    var generation: UInt32 = 0
    var element: Element?
  }

  private var slots: [Slot] = []
  private var free: [Int32] = []
  /// Above those of all slots that were given back.
  private var firstGeneration: UInt32 = 0
  /// A table of fewer slots keeps them.
  private static var smallest: Int { 256 }

  var count: Int { slots.count - free.count }
  /// How many values there is room for.
  var room: Int { slots.count }

  mutating func insert(_ element: Element) -> ID {
    guard let index = free.popLast() else {
      slots.append(Slot(generation: firstGeneration, element: element))
      return ID(index: Int32(slots.count - 1), generation: firstGeneration)
    }
    slots[Int(index)].element = element
    return ID(index: index, generation: slots[Int(index)].generation)
  }

  /// The value of `id`, to be read and changed; nil removes it. nil where it was removed; a change then has no effect.
  // Plain accessors: coroutines that yield an optional element take memory for every call. Elements are therefore small,
  // or references.
  subscript(id: ID) -> Element? {
    get { contains(id) ? slots[Int(id.index)].element : nil }
    set {
      guard let newValue else {
        remove(id)
        return
      }
      if contains(id) { slots[Int(id.index)].element = newValue }
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

  /// Gives back the memory of the slots behind the last value, where three of four are free. Looks at all slots.
  mutating func trim() {
    guard slots.count > SlotTable.smallest, count <= slots.count / 4 else { return }
    let end = (slots.lastIndex { $0.element != nil } ?? -1) + 1
    for slot in slots[end...] { firstGeneration = max(firstGeneration, slot.generation) }
    // Copies, which have no more room than they need.
    slots = Array(slots[..<end])
    // The first slots are used first, so that the last ones become free.
    free = slots.indices.reversed().compactMap { slots[$0].element == nil ? Int32($0) : nil }
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
