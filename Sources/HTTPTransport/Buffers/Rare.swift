/// A value that is large and mostly absent: until it is there it takes the memory of a reference.
@propertyWrapper indirect enum Rare<Value> {
  case absent
  case present(Value)

  init(wrappedValue: Value?) { self = wrappedValue.map { .present($0) } ?? .absent }

  var wrappedValue: Value? {
    get {
      if case .present(let value) = self { value } else { nil }
    }
    set { self = newValue.map { .present($0) } ?? .absent }
  }
}

extension Rare: Sendable where Value: Sendable {}
