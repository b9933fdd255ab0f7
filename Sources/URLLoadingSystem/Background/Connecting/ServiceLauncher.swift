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

  func connect<Connection: Sendable>(
    startsService: Bool, _ attempt: @Sendable (String) async throws -> Connection
  ) async throws -> Connection {
    do { return try await attempt(location.socket) } catch let error as IOError {
      guard ServiceLauncher.meansNoListener(error) else { throw ServiceUnavailable(reason: "\(error)") }
      guard startsService else {
        throw ServiceUnavailable(reason: "no service listens on \(location.socket)", isNotRunning: true)
      }
    }
    let report = try await BlockingWork.files { try start() }
    let clock = ContinuousClock()
    let deadline = clock.now + ServiceLauncher.patience
    var pause = Duration.milliseconds(5)
    while true {
      do { return try await attempt(location.socket) } catch let error as IOError {
        let program = location.program ?? "it"
        if let failure = report.failure {
          throw ServiceUnavailable(reason: "\(program) could not start the service: \(failure)")
        }
        guard ServiceLauncher.meansNoListener(error), clock.now < deadline else {
          let reason = try await BlockingWork.files { report.reasonInLog() }
          throw ServiceUnavailable(
            reason: "\(program) was started but does not listen: \(reason.map { "its log says: \($0)" } ?? "\(error)")")
        }
      }
      // Another process gets ready and has no way to tell us but to listen.
      try await clock.sleep(for: pause)
      pause = min(pause * 2, .milliseconds(100))
    }
  }

  private func start() throws -> ServiceStartReport {
    BlockingWork.assertMayBlock()
    guard let program = location.program else {
      throw ServiceUnavailable(
        reason: "\(ServiceNames.program) is not installed, or only where it belongs to another user; "
          + "install it, or name it in \(ServiceLocation.programVariable)"
      )
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
