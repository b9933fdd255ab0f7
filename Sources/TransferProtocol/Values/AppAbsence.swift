import Foundation

/// The app of a transfer has not connected for long, and the transfer is removed when it does not.
package struct AppAbsence: Codable, Sendable, Equatable {
  /// Days on which the service ran and the app did not connect.
  package var days: Int
  /// When it is removed, if the service runs each day until then.
  package var removal: Date

  package init(days: Int, removal: Date) {
    self.days = days
    self.removal = removal
  }
}
