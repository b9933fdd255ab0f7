import Testing

@testable import HTTPTransport

@Suite struct SlotTableTests {
  @Test func anIDOfARemovedValueFindsNothing() {
    var table = SlotTable<String>()
    let first = table.insert("first")
    table.remove(first)
    let second = table.insert("second")
    #expect(first.index == second.index && table[first] == nil && table[second] == "second")
    table[first]? += " changed"
    table.remove(first)
    #expect(table[second] == "second" && table.count == 1 && table.ids == [second])
  }

  @Test func aValueThatIsSetToNilIsRemoved() {
    var table = SlotTable<String>()
    let (first, second) = (table.insert("first"), table.insert("second"))
    table[first] = nil
    table[first] = nil
    table[first] = "first"
    #expect(table[first] == nil && table.count == 1 && table.ids == [second])
  }

  @Test func valuesAreChangedInPlace() {
    var table = SlotTable<[Int]>()
    let id = table.insert([1])
    table[id]?.append(2)
    #expect(table[id] == [1, 2])
    table.removeAll()
    #expect(table[id] == nil && table.count == 0 && table.ids.isEmpty)
  }

  @Test func aTableThatIsMostlyEmptyGivesItsMemoryBack() {
    var table = SlotTable<Int>()
    let ids = (0..<100_000).map { table.insert($0) }
    table.trim()
    #expect(table.room == 100_000)
    for id in ids.dropFirst(10) { table.remove(id) }
    table.trim()
    #expect(table.count == 10 && table.room == 10)
    #expect(ids.prefix(10).map { table[$0] } == Array(0..<10))
    // None of the new IDs is one of those before.
    let later = (0..<100_000).map { table.insert($0 + 100_000) }
    #expect(Set(ids).isDisjoint(with: later))
    #expect(ids.dropFirst(10).allSatisfy { table[$0] == nil })
    #expect(later.indices.allSatisfy { table[later[$0]] == $0 + 100_000 })
  }

  /// The first slots are used again before others, so that a value at the end keeps the room only as long as it is there.
  @Test func aValueAtTheEndOfATableKeepsItsRoomNoLongerThanItIsThere() {
    var table = SlotTable<Int>()
    let ids = (0..<10_000).map { table.insert($0) }
    for id in ids.dropLast() { table.remove(id) }
    table.trim()
    #expect(table.room == 10_000 && table[ids[9_999]] == 9_999)
    let later = (0..<5).map { table.insert($0) }
    table.remove(ids[9_999])
    table.trim()
    #expect(table.room == 5 && later.map { table[$0] } == Array(0..<5))
  }
}
