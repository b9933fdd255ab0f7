extension HTTPFields: ExpressibleByDictionaryLiteral {
  /// The fields in the order written; a name may repeat.
  package init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { Field(name: $0.0, value: $0.1) })
  }
}
