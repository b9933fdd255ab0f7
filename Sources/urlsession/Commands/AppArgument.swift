import ArgumentParser
import Foundation

/// The program of an app, by its path.
struct AppArgument: ExpressibleByArgument, Sendable, Equatable {
  /// Absolute and without links, as the kernel names the program of a process, by which the transfer service knows apps.
  let path: String

  init?(argument: String) {
    guard !argument.isEmpty else { return nil }
    guard let real = realpath(argument, nil) else {
      // The app may have been removed since.
      guard let absolute = try? CommandPath.absolute(argument) else { return nil }
      path = absolute
      return
    }
    defer { free(real) }
    path = String(cString: real)
  }

  static let valueName = "path"
}
