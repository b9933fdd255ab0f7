import Foundation

/// Names for folders of things that are set aside: the date, and a part that no other folder has.
enum DatedFolder {
  /// `2026-01-31T10:20:30Z-5F2C80AB`
  static func name(_ date: Date) -> String { "\(date.ISO8601Format())-\(UUID().uuidString.prefix(8))" }

  /// The date in the name of such a folder; nil in other names.
  static func date(_ name: String) -> Date? {
    guard let end = name.firstIndex(of: "Z") else { return nil }
    return try? Date(String(name[...end]), strategy: .iso8601)
  }
}
