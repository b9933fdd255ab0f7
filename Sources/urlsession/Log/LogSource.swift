import Foundation
import SystemServices
import TransferProtocol

/// The place where the transfer service writes its log.
enum LogSource: Sendable, Equatable {
  case file(String)
  /// That of systemd.
  case journal

  static let unit = "urlsessiond.service"

  /// - Parameters:
  ///   - output: where the standard error of a running service goes, as proc(5) names it; nil when none runs.
  ///   - file: the log of a service that an app has started.
  ///   - exists: whether that file is there.
  ///   - hasUnit: whether systemd knows the service.
  static func choose(output: String?, file: String, exists: Bool, hasUnit: Bool) -> LogSource? {
    if let output {
      if output.hasPrefix("/"), !output.hasPrefix("/dev/") { return .file(output) }
      if output.hasPrefix("socket:") { return .journal }
    }
    if exists { return .file(file) }
    return hasUnit ? .journal : nil
  }

  /// - Parameter service: the process of the service; nil when none runs.
  static func find(service: Int32?) throws -> LogSource? {
    let file = "\(try UserDirectories().state)/\(ServiceNames.directory)/\(ServiceNames.log)"
    let output = service.flatMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/fd/2") }
    return choose(
      output: output, file: file, exists: FileManager.default.fileExists(atPath: file),
      hasUnit: ServiceUnits.file(unit) != nil)
  }
}
