import Foundation
import TransferProtocol

/// When a transfer is removed whose app does not come back.
enum AbsenceText {
  /// `its app has not been there for 65 days; it is removed on 2026-12-28`
  static func text(_ absence: AppAbsence) -> String {
    let days = absence.days == 1 ? "1 day" : "\(absence.days) days"
    return "its app has not been there for \(days); it is removed on \(day(absence.removal))"
  }

  private static func day(_ date: Date) -> String { date.ISO8601Format(.iso8601.year().month().day()) }
}
