import HTTPSemantics
import SystemServices
import TransferProtocol

/// The next try of a transfer, as the queue has it: its time, and the kind of wait until then, so that a later life of the
/// service waits for the same. The kind stands beside the fields of the time; earlier versions of the service pass over it,
/// and what they have written is a wait after a failure.
package struct PlannedTry: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case failure
    /// See `WaitingReason.serverBusy`.
    case busyServer(status: Int, keepsBytes: Bool)
    case storage
  }

  package var instant: DurableInstant
  package var kind = Kind.failure

  package init(_ instant: DurableInstant, _ kind: Kind = .failure) {
    (self.instant, self.kind) = (instant, kind)
  }

  /// Seconds from now than which it is no later after a restart of the machine, whatever the wall clock says.
  private var longestPause: Double {
    switch kind {
    case .failure, .storage: RetryRule.longestPause
    case .busyServer: Double(RetryAfter.bounds.upperBound)
    }
  }

  /// The wait that is left.
  ///
  /// - Parameters:
  ///   - sentence: the last failure's.
  ///   - failures: how many there were in a row.
  func delay(because sentence: String?, failures: Int, on clock: any ServiceClock) -> Scheduler.Delay {
    let sentence = sentence ?? ""
    let reason: WaitingReason =
      switch kind {
      case .failure: .retry(because: sentence, failures: max(1, failures))
      case .busyServer(let status, let keepsBytes): .serverBusy(status: status, keepsBytes: keepsBytes)
      case .storage: .storageUnavailable(because: sentence)
      }
    let instant = instant.instant(on: clock, past: longestPause, future: longestPause)
    return Scheduler.Delay(until: .instant(instant), reason: reason)
  }
}

extension PlannedTry {
  /// SQL for what is kept of a stored one that a suspension or a resumption ends: it is kept where it waits for a busy server.
  static let busyServerAlone = "CASE WHEN instr(nextAttempt, CAST('\"busyStatus\":' AS BLOB)) > 0 THEN nextAttempt END"
}

extension PlannedTry.Kind {
  init(_ reason: WaitingReason) {
    switch reason {
    case .serverBusy(let status, let keepsBytes): self = .busyServer(status: status, keepsBytes: keepsBytes)
    case .storageUnavailable: self = .storage
    default: self = .failure
    }
  }
}

/// The fields of the kind, next to those of the time.
extension PlannedTry {
  private enum Field: String, CodingKey { case awaitsStorage, busyStatus, keepsBytes }

  private init(_ instant: DurableInstant, busyStatus: Int?, keepsBytes: Bool?, awaitsStorage: Bool?) {
    self.init(instant)
    if let busyStatus {
      kind = .busyServer(status: busyStatus, keepsBytes: keepsBytes ?? false)
    } else if awaitsStorage == true {
      kind = .storage
    }
  }

  private var busyStatus: Int? { if case .busyServer(let status, _) = kind { status } else { nil } }
  private var keepsBytes: Bool? { if case .busyServer(_, true) = kind { true } else { nil } }
  private var awaitsStorage: Bool? { kind == .storage ? true : nil }
}

extension PlannedTry: DirectJSON {
  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    self.init(
      try DurableInstant(from: decoder), busyStatus: try fields.decodeIfPresent(Int.self, forKey: .busyStatus),
      keepsBytes: try fields.decodeIfPresent(Bool.self, forKey: .keepsBytes),
      awaitsStorage: try fields.decodeIfPresent(Bool.self, forKey: .awaitsStorage))
  }

  package func encode(to encoder: any Encoder) throws {
    try instant.encode(to: encoder)
    var fields = encoder.container(keyedBy: Field.self)
    try fields.encodeIfPresent(awaitsStorage, forKey: .awaitsStorage)
    try fields.encodeIfPresent(busyStatus, forKey: .busyStatus)
    try fields.encodeIfPresent(keepsBytes, forKey: .keepsBytes)
  }

  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("awaitsStorage", awaitsStorage)
      try $0.field("bootID", instant.bootID)
      try $0.field("busyStatus", busyStatus)
      try $0.field("counted", instant.counted)
      try $0.field("keepsBytes", keepsBytes)
      try $0.field("nanoseconds", instant.nanoseconds)
      try $0.field("wall", instant.wall)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var bootID: String?
    var nanoseconds: Int64?
    var (wall, counted): (Double?, Double?)
    var busyStatus: Int?
    var (keepsBytes, awaitsStorage): (Bool?, Bool?)
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "awaitsStorage": awaitsStorage = try scanner.optional()
      case "bootID": bootID = try scanner.value()
      case "busyStatus": busyStatus = try scanner.optional()
      case "counted": counted = try scanner.optional()
      case "keepsBytes": keepsBytes = try scanner.optional()
      case "nanoseconds": nanoseconds = try scanner.value()
      case "wall": wall = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let bootID, let nanoseconds, let wall else { throw JSONScanner.Unfit() }
    self.init(
      DurableInstant(bootID: bootID, nanoseconds: nanoseconds, wall: wall, counted: counted), busyStatus: busyStatus,
      keepsBytes: keepsBytes, awaitsStorage: awaitsStorage)
  }
}
