import Foundation

/// The time, as a value that can be replaced in tests.
package protocol ServiceClock: Sendable {
  var now: BootInstant { get }
  /// The wall clock: only for dates that people or apps chose, and for showing.
  var date: Date { get }
  /// Changes with every start of the machine.
  var bootID: String { get }
}
