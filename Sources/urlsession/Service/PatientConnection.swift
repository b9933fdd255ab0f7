import Foundation
import Synchronization
import TransferProtocol
import URLLoadingSystem

/// A command's connection to the transfer service. A request that gets no answer is sent again over a new connection: a service
/// that hangs is ended by its supervisor, and the next one has what the queue has.
///
/// So each request may reach the service twice. Those of commands ask, or set what stays the same when it is set again.
final class PatientConnection: ServiceRequests {
  private struct State {
    var connection: ServiceConnection
    /// The next connection; nil while the present one is used.
    var reopening: Task<ServiceConnection, any Error>?
  }

  private let state: Mutex<State>
  private let note: WaitingNote

  /// For so long a request is sent again. A supervisor takes 45 s to end a service that hangs.
  private static let limit = Duration.seconds(90)
  /// For so long a program with too many connections waits for a place.
  private static let limitOfRoom = Duration.seconds(3)
  private static let pause = Duration.milliseconds(250)

  private init(_ connection: ServiceConnection, _ note: WaitingNote) {
    state = Mutex(State(connection: connection))
    self.note = note
  }

  /// Starts the service when none runs.
  static func open() async throws -> PatientConnection { try await open(startsService: true) }

  /// A connection to a service that runs; nil when none does.
  static func openIfRunning() async throws -> PatientConnection? {
    do { return try await open(startsService: false) } catch let error as ServiceUnavailable where error.isNotRunning {
      return nil
    } catch { throw CommandFailure.service(error) }
  }

  private static func open(startsService: Bool) async throws -> PatientConnection {
    let note = WaitingNote()
    let timer = note.begin()
    defer { timer.cancel() }
    let connection = try await connect(startsService: startsService, until: .now + limit, note)
    return PatientConnection(connection, note)
  }

  func request(_ request: ClientRequest) async throws -> ServiceReply {
    let timer = note.begin()
    defer { timer.cancel() }
    let deadline = ContinuousClock.now + PatientConnection.limit
    var isRepeated = false
    // A request that ends each service that it reaches is not sent to many.
    var breaks = 0
    while true {
      let used = state.withLock { $0.connection }
      do {
        return try await used.request(request)
      } catch let refusal as Refusal where isRepeated && refusal.reason == .invalidRequest && request.isCancellation {
        // The transfer is over, which the first request may have done.
        return .done
      } catch  where ServiceUnavailable.isPassing(error) && ContinuousClock.now < deadline && breaks < 3 {
        if let gone = error as? ServiceUnavailable, !gone.isSilent { breaks += 1 }
        await PatientConnection.failed(error, note)
        isRepeated = true
        try await replace(used, until: deadline)
      }
    }
  }

  func close() {
    state.withLock {
      $0.connection.close()
      $0.reopening?.cancel()
    }
  }

  /// Requests that were under way over the same connection go on over one.
  private func replace(_ lost: ServiceConnection, until deadline: ContinuousClock.Instant) async throws {
    let note = self.note
    let reopening = state.withLock { state -> Task<ServiceConnection, any Error>? in
      guard state.connection === lost else { return nil }
      if let reopening = state.reopening { return reopening }
      lost.close()
      let reopening = Task { try await PatientConnection.connect(startsService: true, until: deadline, note) }
      state.reopening = reopening
      return reopening
    }
    guard let reopening else { return }
    let new = try await reopening.value
    state.withLock { if $0.connection === lost { $0 = State(connection: new) } }
  }

  /// The supervisor has not looked at a service that rests.
  private static func failed(_ error: any Error, _ note: WaitingNote) async {
    guard (error as? ServiceUnavailable)?.isSilent == true else { return }
    note.say()
    await ServiceConnection.tellSupervisor()
  }

  private static func connect(
    startsService: Bool, until deadline: ContinuousClock.Instant, _ note: WaitingNote
  ) async throws -> ServiceConnection {
    // One that hangs does run, so that the next one may be started.
    var startsService = startsService
    let room = ContinuousClock.now + limitOfRoom
    while true {
      do {
        return try await ServiceConnection.open(
          startsService: startsService, patience: ServiceConnection.patienceOfCommands)
      } catch let refusal as Refusal where refusal.hasTooManyConnections == true && ContinuousClock.now < room {
        // Other processes of this program have them.
        try await Task.sleep(for: pause)
      } catch  where ServiceUnavailable.isPassing(error) && ContinuousClock.now < deadline {
        await failed(error, note)
        if (error as? ServiceUnavailable)?.isSilent == true { startsService = true }
        // The service is another process, and there is no other way to hear that it is back.
        try await Task.sleep(for: pause)
      }
    }
  }
}

extension ClientRequest {
  fileprivate var isCancellation: Bool { if case .cancelTransfer = self { true } else { false } }
}
