import Foundation
import GRDB

extension TransferStore {
  /// Mends rows whose fields are of another kind than they should be: such a field is read as zero, so that the transfer
  /// would go on with a false count. Their requests count as damaged. Returns how many there were.
  func mendDamagedRows() throws -> Int { try database.write { try TransferStore.mendDamagedRows(in: $0) } }

  @discardableResult
  static func mendDamagedRows(in database: Database) throws -> Int {
    // These say little, and cost no request.
    try database.execute(
      sql: """
        UPDATE transfers SET
          state = CASE typeof(state) WHEN 'text' THEN state ELSE 'suspended' END,
          crashes = CASE typeof(crashes) WHEN 'integer' THEN crashes ELSE 0 END,
          held = CASE typeof(held) WHEN 'integer' THEN held ELSE 0 END,
          begun = CASE typeof(begun) WHEN 'integer' THEN begun ELSE 1 END
        WHERE state <> 'completed'
          AND (typeof(state) <> 'text' OR typeof(crashes) <> 'integer' OR typeof(held) <> 'integer'
            OR typeof(begun) <> 'integer')
        """)
    try database.execute(
      sql: """
        UPDATE transfers SET description = X'', host = '', priority = 0.5, earliestBegin = NULL, committedOffset = 0,
          expectedTotal = -1, failures = 0, nextAttempt = NULL, lastFailure = NULL, created = 0
        WHERE state <> 'completed' AND (typeof(host) <> 'text' OR typeof(priority) NOT IN ('real', 'integer')
          OR typeof(earliestBegin) NOT IN ('real', 'integer', 'null') OR typeof(committedOffset) <> 'integer'
          OR typeof(expectedTotal) <> 'integer' OR typeof(failures) <> 'integer'
          OR typeof(lastFailure) NOT IN ('text', 'null') OR typeof(created) NOT IN ('real', 'integer'))
        """)
    return database.changesCount
  }

  /// The same for fields of sessions, whose tasks go on: numbers that were lost are raised above all that were given away,
  /// and an app of which it is not known whether it judges connections does. Returns how many fields there were.
  func mendDamagedSessions(at date: Date) throws -> Int {
    try database.write { try TransferStore.mendDamagedSessions(at: date, in: $0) }
  }

  @discardableResult
  static func mendDamagedSessions(at date: Date, in database: Database) throws -> Int {
    let first = RaisedNumbers(highest: 0, date: date).first
    let fields: [(column: String, kinds: String, value: Int64?)] = [
      ("nextTaskIdentifier", "'integer'", first), ("nextSequence", "'integer'", first),
      ("launches", "'integer'", 0), ("recentLaunches", "'integer'", 0), ("judgesConnections", "'integer'", 1),
      ("sealedOptions", "'blob', 'null'", nil), ("sealedFields", "'blob', 'null'", nil),
    ]
    var count = 0
    // As text it is the name, where only its kind is wrong.
    for name in ["CAST(identifier AS TEXT)", "'damaged session ' || id"] {
      try database.execute(
        sql: "UPDATE OR IGNORE sessions SET identifier = \(name) WHERE typeof(identifier) <> 'text'")
      count += database.changesCount
    }
    for field in fields {
      try database.execute(
        sql: "UPDATE sessions SET \(field.column) = ? WHERE typeof(\(field.column)) NOT IN (\(field.kinds))",
        arguments: [field.value])
      count += database.changesCount
    }
    return count
  }
}
