#if HTTP3
import CQUIC
import NIOCore

/// The events of the state machine, as functions of C. Each finds the object that its pointer stands for, which is alive as
/// long as the machine is: the machine belongs to the connection, and a stream's exchange is kept until it is closed.
enum QUICEvents {
  static func table() -> cquic_events {
    var events = cquic_events()
    events.handshake_completed = { QUICEvents.connection($0)?.completedHandshake() }
    events.streams_changed = { QUICEvents.connection($0)?.http?.streamsChanged() }
    events.going_away = { QUICEvents.connection($0)?.http?.goingAway(from: $1) }
    events.ticket = { connection, ticket in
      guard let ticket else { return }
      guard let connection = QUICEvents.connection(connection) else { return cquic_ticket_free(ticket) }
      connection.received(ticket)
    }
    events.server_stream = { connection, stream, bytes, length in
      let view = UnsafeBufferPointer(start: bytes, count: length)
      return QUICEvents.connection(connection)?.received(view, ofServerStream: stream) == true ? 1 : 0
    }
    events.field = { _, stream, name, nameLength, value, valueLength, isTrailer in
      QUICEvents.exchange(stream)?.received(
        name: UnsafeBufferPointer(start: name, count: nameLength),
        value: UnsafeBufferPointer(start: value, count: valueLength))
    }
    events.fields_ended = { _, stream, _, isEnd in QUICEvents.exchange(stream)?.fieldsEnded(isEnd: isEnd != 0) }
    events.data = { _, stream, bytes, length in
      QUICEvents.exchange(stream)?.received(data: UnsafeBufferPointer(start: bytes, count: length))
    }
    events.lacks_bytes = { _, stream in QUICEvents.exchange(stream)?.lacksBytes == true ? 1 : 0 }
    events.ended = { _, stream in QUICEvents.exchange(stream)?.ended() }
    events.reset = { _, stream, code in QUICEvents.exchange(stream)?.received(reset: HTTP3ErrorCode(rawValue: code)) }
    events.sending_stopped = { _, stream in QUICEvents.exchange(stream)?.sendingStopped() }
    events.acknowledged = { _, stream, length in QUICEvents.exchange(stream)?.acknowledged(length) }
    events.closed = { _, stream, code in QUICEvents.exchange(stream)?.closed(HTTP3ErrorCode(rawValue: code)) }
    return events
  }

  private static func connection(_ pointer: UnsafeMutableRawPointer?) -> QUICConnection? {
    pointer.map { Unmanaged<QUICConnection>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func exchange(_ pointer: UnsafeMutableRawPointer?) -> HTTP3Exchange? {
    pointer.map { Unmanaged<HTTP3Exchange>.fromOpaque($0).takeUnretainedValue() }
  }
}
#endif
