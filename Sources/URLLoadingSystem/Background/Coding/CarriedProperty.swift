/// A property that a message (`Message`) and a value of the API (`Value`) have in common, and how it gets from one to the
/// other. Each pair of types has one list of them, which is used for both ways.
struct CarriedProperty<Message, Value>: Sendable {
  let encode: @Sendable (Value, inout Message) -> Void
  let decode: @Sendable (Message, inout Value) -> Void

  /// Encodes into every property of `message`.
  static func encode(_ value: Value, into message: inout Message, _ properties: [CarriedProperty]) {
    for property in properties { property.encode(value, &message) }
  }

  static func decode(_ message: Message, into value: inout Value, _ properties: [CarriedProperty]) {
    for property in properties { property.decode(message, &value) }
  }

  // A property that a message leaves out stays at the value's default.

  static func same<Property>(
    _ message: WritableKeyPath<Message, Property?> & Sendable, _ value: WritableKeyPath<Value, Property> & Sendable
  ) -> CarriedProperty {
    CarriedProperty(
      encode: { $1[keyPath: message] = $0[keyPath: value] },
      decode: { if let property = $0[keyPath: message] { $1[keyPath: value] = property } })
  }

  static func same<Property>(
    _ message: WritableKeyPath<Message, Property?> & Sendable, _ value: WritableKeyPath<Value, Property?> & Sendable
  ) -> CarriedProperty {
    CarriedProperty(
      encode: { $1[keyPath: message] = $0[keyPath: value] }, decode: { $1[keyPath: value] = $0[keyPath: message] })
  }

  /// A property that every message has.
  static func required<Property>(
    _ message: WritableKeyPath<Message, Property> & Sendable, _ value: WritableKeyPath<Value, Property> & Sendable
  ) -> CarriedProperty {
    CarriedProperty(
      encode: { $1[keyPath: message] = $0[keyPath: value] }, decode: { $1[keyPath: value] = $0[keyPath: message] })
  }

  /// An enumeration as its number. A number that is not known here means the default.
  static func number<Property: RawRepresentable & SendableMetatype>(
    _ message: WritableKeyPath<Message, Property.RawValue?> & Sendable,
    _ value: WritableKeyPath<Value, Property> & Sendable
  ) -> CarriedProperty {
    CarriedProperty(
      encode: { $1[keyPath: message] = $0[keyPath: value].rawValue },
      decode: {
        if let property = $0[keyPath: message].flatMap({ Property(rawValue: $0) }) { $1[keyPath: value] = property }
      })
  }

  /// Seconds, which are finite in a message.
  static func seconds(
    _ message: WritableKeyPath<Message, Double?> & Sendable, _ value: WritableKeyPath<Value, Double> & Sendable
  ) -> CarriedProperty {
    CarriedProperty(
      encode: { $1[keyPath: message] = MessageInterval.seconds($0[keyPath: value]) },
      decode: { if let property = $0[keyPath: message] { $1[keyPath: value] = property } })
  }
}
