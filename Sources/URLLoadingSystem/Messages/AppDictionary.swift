/// A dictionary that an app gave, with values of any type.
struct AppDictionary: @unchecked Sendable {
  // Sendable by hand, and nothing to assert: a copy of the app's, of values that are property lists by their contract.
  let entries: [AnyHashable: Any]

  init(_ entries: [AnyHashable: Any]) { self.entries = entries }
}
