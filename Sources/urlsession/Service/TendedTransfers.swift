import Foundation
import TransferProtocol

/// The transfers that a command does the same with.
struct TendedTransfers: Sendable {
  enum Selection: Sendable, Equatable {
    case numbers([Int64])
    /// Those of the app with that program.
    case app(String)
    case all
  }

  /// Asks the service, and says what became of the transfer. It is called for those that are not over.
  typealias Action = @Sendable (TransferStatus, PatientConnection) async throws -> String

  /// Begins a transfer again that is lost or over without its file, and says so.
  typealias Beginning = @Sendable (EndedTransfer) async throws -> String

  let selection: Selection
  let isQuiet: Bool

  /// How many of a list are asked about at a time: each waits for the disk.
  private static let atATime = 32

  init(_ selection: Selection, isQuiet: Bool) { (self.selection, self.isQuiet) = (selection, isQuiet) }

  init(ids: [Int64], isQuiet: Bool) { self.init(.numbers(ids), isQuiet: isQuiet) }

  /// - Parameters:
  ///   - sentence: Said of a transfer with one of the numbers that is over; nil where that is a failure.
  ///   - ended: Called for a transfer with one of the numbers that is lost, or is one of this program and over without its file; nil
  ///     where that is a failure.
  /// - Throws: `CommandFailure` when the service can't be asked or refuses, or, once all have had their turn, when one of the
  ///   numbers is unknown or of a transfer that is over, or when the app has no transfer.
  func each(over sentence: String? = nil, ended: Beginning? = nil, _ action: @escaping Action) async throws {
    do {
      // Also where none runs: it has what an earlier one left.
      let service = try await PatientConnection.open()
      defer { service.close() }
      switch selection {
      case .numbers(let ids): try await each(ids, over: sentence, ended: ended, action, service)
      case .app(let path):
        let chosen = try await service.unfinishedTransfers(ofApp: path)
        guard !chosen.isEmpty else {
          throw CommandFailure(
            .unknownTransfer, "\(path) has no transfer that is not over",
            advice: "see the programs of transfers with `urlsession list --json`")
        }
        try await each(of: chosen, action, service)
      case .all:
        let chosen = try await service.allTransfers(includesFinished: false).filter { $0.state != .completed }
        if chosen.isEmpty, !isQuiet { StandardError.print("No transfers.") }
        try await each(of: chosen, action, service)
      }
    } catch { throw CommandFailure.service(error) }
  }

  private func each(
    _ ids: [Int64], over sentence: String?, ended: Beginning?, _ action: Action, _ service: PatientConnection
  ) async throws {
    var unknown: [Int64] = []
    var over: [Int64] = []
    // The others have their turn.
    var failed: CommandFailure?
    let records = try RecordStore.usual()
    func begin(_ transfer: EndedTransfer?, _ id: Int64) async throws -> Bool {
      guard let ended, let transfer else { return false }
      do { say(try await ended(transfer), of: id) } catch let failure as CommandFailure { failed = failed ?? failure }
      return true
    }
    for id in ids {
      guard let status = try await service.transfer(id)?.status else {
        let record = ended == nil ? nil : records.latest(id)
        var transfer: EndedTransfer?
        if let record, let report = try await service.report(of: record) { transfer = EndedTransfer(report, record) }
        if try await !begin(transfer, id) { unknown.append(id) }
        continue
      }
      guard status.state != .completed else {
        if try await begin(EndedTransfer(status, in: records), id) { continue }
        if let sentence { say(sentence, of: id) } else { over.append(id) }
        continue
      }
      say(try await action(status, service), of: id)
    }
    if !unknown.isEmpty { throw try await TendedTransfers.failure(ofUnknown: unknown, service) }
    if !over.isEmpty { throw CommandFailure.over(transfers: over) }
    if let failed { throw failed }
  }

  /// One of them may be lost, which this program's own record tells.
  private static func failure(ofUnknown numbers: [Int64], _ service: PatientConnection) async throws -> CommandFailure {
    let records = try RecordStore.usual().all().filter { $0.transfer.map(numbers.contains) == true }
    for record in records where record.outcome == .queued || record.isLost {
      if let ending = try await service.report(of: record)?.ending { return ending }
    }
    return CommandFailure.unknown(transfers: numbers)
  }

  /// Those that wait come first, so that none starts in the place of one that was stopped.
  private func each(of chosen: [TransferStatus], _ action: @escaping Action, _ service: PatientConnection) async throws
  {
    var rest = (chosen.filter { $0.state != .running } + chosen.filter { $0.state == .running })[...]
    while !rest.isEmpty {
      let part = rest.prefix(Self.atATime)
      rest = rest.dropFirst(Self.atATime)
      let results = try await withThrowingTaskGroup(of: (Int64, String?).self) { group in
        for status in part {
          group.addTask { (status.transfer, try await TendedTransfers.result(of: action, status, service)) }
        }
        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      for status in part { if let result = results[status.transfer] { say(result, of: status.transfer) } }
    }
  }

  /// nil where the transfer has ended since it was listed.
  private static func result(
    of action: Action, _ status: TransferStatus, _ service: PatientConnection
  ) async throws -> String? {
    do { return try await action(status, service) } catch let refusal as Refusal {
      guard try await service.transfer(status.transfer)?.status.state ?? .completed == .completed else { throw refusal }
      return nil
    }
  }

  private func say(_ result: String, of id: Int64) {
    if !isQuiet { StandardOutput.print("Transfer \(id): \(result)") }
  }
}
