/// A secret of a store, and what it is for.
package struct SecretItem: Sendable, Equatable {
  package let attributes: SecretAttributes
  package let secret: SecretBytes

  package init(attributes: SecretAttributes, secret: SecretBytes) {
    self.attributes = attributes
    self.secret = secret
  }
}
