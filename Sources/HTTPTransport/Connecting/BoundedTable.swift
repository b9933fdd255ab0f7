import SystemServices

/// Values, each with the time at which it was noted. When the table is full the oldest makes room. Reads no clock.
struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  struct Entry: Sendable {
    let value: Value
    let noted: BootInstant
  }

  let capacity: Int
  private var entries: [Key: Entry] = [:]

  init(capacity: Int) { self.capacity = max(capacity, 1) }

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  func entry(for key: Key) -> Entry? { entries[key] }

  mutating func note(_ value: Value, for key: Key, at now: BootInstant) {
    if entries[key] == nil, entries.count >= capacity,
      let oldest = entries.min(by: { $0.value.noted < $1.value.noted })
    {
      entries[oldest.key] = nil
    }
    entries[key] = Entry(value: value, noted: now)
  }

  /// Replaces a value that is there; its time stays.
  mutating func revise(_ value: Value, for key: Key) {
    guard let entry = entries[key] else { return }
    entries[key] = Entry(value: value, noted: entry.noted)
  }

  mutating func remove(_ key: Key) { entries[key] = nil }

  mutating func removeAll() { entries = [:] }
}
