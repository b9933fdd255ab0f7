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
}
