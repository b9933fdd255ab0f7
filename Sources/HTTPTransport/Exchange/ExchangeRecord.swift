import NIOCore

/// The record of one exchange. Byte counts are those on the wire, framing included.
package struct ExchangeRecord: Sendable {
  /// Shared by the exchanges of a connection, so that a copy takes one reference.
  private var sharedConnection: SharedConnection
  package var isReusedConnection: Bool
  package var requestStart: NIODeadline?
  package var requestEnd: NIODeadline?
  package var responseStart: NIODeadline?
  package var responseEnd: NIODeadline?
  package var requestHeaderBytes: Int64 = 0
  package var requestBodyBytes: Int64 = 0
  package var responseHeaderBytes: Int64 = 0
  package var responseBodyBytes: Int64 = 0

  package init(connection: ConnectionRecord, isReusedConnection: Bool) {
    sharedConnection = SharedConnection(connection)
    self.isReusedConnection = isReusedConnection
  }

  /// More is known of the connection than before.
  mutating func connectionIsMade(_ record: ConnectionRecord) { sharedConnection = SharedConnection(record) }

  package var connection: ConnectionRecord { _read { yield sharedConnection.record } }

  /// Whether the connection has streams with priorities. Asked for each request: nothing of the record is copied.
  package var hasPriorities: Bool { sharedConnection.hasPriorities }

  /// The alternative service that the connection leads to; nil for none. Likewise.
  package var alternativeService: String? { sharedConnection.record.alternativeService }

  private final class SharedConnection: Sendable {
    let record: ConnectionRecord
    let hasPriorities: Bool
    init(_ record: ConnectionRecord) {
      self.record = record
      hasPriorities = record.protocolName == "h2" || record.protocolName == "h3"
    }
  }
}
