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
}
