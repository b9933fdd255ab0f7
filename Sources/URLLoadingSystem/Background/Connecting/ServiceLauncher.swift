import Foundation
import HTTPTransport
import NIOCore
import SystemServices
import TransferProtocol

/// Gets a connection to the service, starting it first where no service listens.
///
/// Two apps may do so at the same moment: the service makes sure that one of the two processes stays, and both apps
/// end up connected to it.
struct ServiceLauncher: Sendable {
  let location: ServiceLocation
  /// Of this app. The service gets the part of it that is not the app's own.
  var environment = ProcessInfo.processInfo.environment

  /// How long a service that was just started may take to listen.
  private static let patience = Duration.seconds(10)
  /// A service that ends before it listens is started again so often.
  private static let mostStarts = 5

  /// - Returns: a connection, and the path of the socket that it leads to.
  func connect<Connection: Sendable>(
    startsService: Bool, _ attempt: @Sendable (String) async throws -> Connection
  ) async throws -> (connection: Connection, socket: String) {
    do { return try await connectToAny(attempt) } catch let error as IOError {
      // EAGAIN: it does not accept connections, and too many wait.
      guard ServiceLauncher.meansNoListener(error) else {
        throw ServiceUnavailable(reason: "\(error)", isSilent: error.errnoCode == EAGAIN)
      }
      guard startsService else {
        throw ServiceUnavailable(reason: "no service listens on \(location.socket)", isNotRunning: true)
      }
    }
    var report = try await BlockingWork.files { try start() }
    var starts = 1
    let clock = ContinuousClock()
    let deadline = clock.now + ServiceLauncher.patience
    var pause = Duration.milliseconds(5)
    while true {
      // Before the attempt: the end of the start means that the service listens, or that it has ended.
      let hasEnded = report.hasEnded
      do { return try await connectToAny(attempt) } catch let error as IOError {
        let program = location.program ?? "it"
        if let failure = report.failure {
          throw ServiceUnavailable(reason: "\(program) could not start the service: \(failure)")
        }
        guard ServiceLauncher.meansNoListener(error), clock.now < deadline else {
          let reason = try await BlockingWork.files { [report] in report.reasonInLog() }
          throw ServiceUnavailable(
            reason: "\(program) was started but does not listen: \(reason.map { "its log says: \($0)" } ?? "\(error)")")
        }
      }
      if hasEnded, starts < ServiceLauncher.mostStarts {
        starts += 1
        report = try await BlockingWork.files { try start() }
      }
      try await clock.sleep(for: pause)
      pause = min(pause * 2, .milliseconds(100))
    }
  }

  /// Throws where no socket has a listener: that there is none, rather than that one is not for this user.
  private func connectToAny<Connection: Sendable>(
    _ attempt: @Sendable (String) async throws -> Connection
  ) async throws -> (connection: Connection, socket: String) {
    var (absence, closed): (IOError?, IOError?)
    for socket in location.sockets {
      do { return (try await attempt(socket), socket) } catch let error as IOError
        where ServiceLauncher.meansNoListener(error)
      {
        absence = absence ?? error
      } catch let error as IOError where [EACCES, ELOOP].contains(error.errnoCode) {
        // The runtime folder of another user, which `su` has left in the environment.
        closed = closed ?? error
      }
    }
    throw absence ?? closed ?? IOError(errnoCode: ENOENT, reason: "connect")
  }

  /// Has a supervisor that is there look after its worker: it is told when another one starts.
  func tellSupervisor() {
    Task { try await BlockingWork.files { _ = try start() } }
  }

  private func start() throws -> ServiceStartReport {
    BlockingWork.assertMayBlock()
    guard let program = location.program else {
      throw ServiceUnavailable(
        reason: "\(ServiceNames.program) is not installed, or only where it belongs to another user; "
          + "install it, or name it in \(ServiceNames.programVariable)",
        isNotInstalled: true)
    }
    do {
      // The process started here hands over to a detached one and ends at once, so that the service is no child of ours.
      let report = ServiceStartReport(log: location.log)
      try report.start(
        program, arguments: ["--spawn-detached"], environment: UserEnvironment.ofService(environment))
      return report
    } catch { throw ServiceUnavailable(reason: "\(program) could not be started: \(error)") }
  }

  private static func meansNoListener(_ error: IOError) -> Bool {
    [ENOENT, ECONNREFUSED, ENOTDIR].contains(error.errnoCode)
  }
}
