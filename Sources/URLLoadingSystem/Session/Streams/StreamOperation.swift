import DequeModule
import Foundation

/// One thing that a stream task was asked to do.
enum StreamOperation: Sendable {
  case read(min: Int, max: Int, timeout: TimeInterval, TaskWaiter<(Data?, Bool)>)
  case write(Data, timeout: TimeInterval, TaskWaiter<Void>)
  case closeRead
  case closeWrite
  case startSecureConnection
  case captureStreams

  /// The side of the connection that an operation needs for itself.
  enum Side: Sendable { case reading, writing, both }

  var side: Side {
    switch self {
    case .read, .closeRead: .reading
    case .write, .closeWrite: .writing
    case .startSecureConnection, .captureStreams: .both
    }
  }
}

extension StreamOperation {
  var isTransfer: Bool {
    switch self {
    case .read, .write: true
    case .closeRead, .closeWrite, .startSecureConnection, .captureStreams: false
    }
  }
}

/// Says what may begin next: each side does one thing at a time, in order; what needs both waits for all before it, and
/// all behind it waits.
struct StreamSchedule {
  private var waiting = Deque<StreamOperation>()
  private var isReading = false
  private var isWriting = false

  mutating func add(_ operation: StreamOperation) { waiting.append(operation) }

  /// The next operation that may begin now; it has its side until `ended`.
  mutating func next() -> StreamOperation? {
    var readingIsTaken = isReading
    var writingIsTaken = isWriting
    for (index, operation) in waiting.enumerated() {
      switch operation.side {
      case .reading:
        if !readingIsTaken { return begin(index) }
        readingIsTaken = true
      case .writing:
        if !writingIsTaken { return begin(index) }
        writingIsTaken = true
      case .both: return index == 0 && !readingIsTaken && !writingIsTaken ? begin(index) : nil
      }
      if readingIsTaken && writingIsTaken { return nil }
    }
    return nil
  }

  /// Everything that has not begun, one after the other.
  mutating func drain() -> StreamOperation? { waiting.popFirst() }

  /// The reads, or writes, that have not begun, in order; they are not waiting any more.
  mutating func take(_ side: StreamOperation.Side) -> [StreamOperation] {
    let taken = Array(waiting).filter { $0.isTransfer && $0.side == side }
    waiting.removeAll { $0.isTransfer && $0.side == side }
    return taken
  }

  mutating func ended(_ side: StreamOperation.Side) {
    if side != .writing { isReading = false }
    if side != .reading { isWriting = false }
  }

  private mutating func begin(_ index: Int) -> StreamOperation {
    let operation = waiting.remove(at: index)
    if operation.side != .writing { isReading = true }
    if operation.side != .reading { isWriting = true }
    return operation
  }
}
