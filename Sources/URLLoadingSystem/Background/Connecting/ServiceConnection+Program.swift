import Foundation
import HTTPTransport
import SystemServices

extension ServiceConnection {
  /// The program that would be started as the service; nil when it is not found, or other users can change it.
  package static func program(
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) async -> String? {
    try? await BlockingWork.files { try ServiceLocation(environment: environment).program }
  }

  /// Has the supervisor of a service that gives no answer look after it. A connection that may start the service does so itself.
  package static func tellSupervisor(environment: [String: String] = ProcessInfo.processInfo.environment) async {
    guard let location = try? await BlockingWork.files({ try ServiceLocation(environment: environment) }) else {
      return
    }
    ServiceLauncher(location: location, environment: environment).tellSupervisor()
  }
}
