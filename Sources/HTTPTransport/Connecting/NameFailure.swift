import SystemServices

package typealias NameAnswer = Result<[NetworkAddress], NameFailure>

/// Why there is no address.
package struct NameFailure: Error, Equatable {
  /// In the resolver's words.
  package let reason: String
  /// Whether that is the answer, rather than that there was none.
  package let isAbsence: Bool

  package init(reason: String, isAbsence: Bool) {
    self.reason = reason
    self.isAbsence = isAbsence
  }
}
