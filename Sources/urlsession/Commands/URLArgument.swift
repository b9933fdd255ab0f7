import ArgumentParser
import Foundation

/// A URL with a scheme.
struct URLArgument: ExpressibleByArgument, Sendable {
  let url: URL

  init?(argument: String) {
    guard let url = URL(string: argument), let scheme = url.scheme, !scheme.isEmpty else { return nil }
    // `localhost:8080/x` parses as scheme "localhost", which is never meant.
    guard ["http", "https"].contains(scheme.lowercased()) else {
      guard argument.dropFirst(scheme.count + 1).hasPrefix("//") || scheme.lowercased() == "data" else { return nil }
      self.url = url
      return
    }
    guard let host = url.host, !host.isEmpty else { return nil }
    self.url = url
  }

  var isHTTP: Bool { ["http", "https"].contains(url.scheme?.lowercased() ?? "") }

  /// Its scheme, host and port, by which passwords are kept apart.
  var server: String {
    "\(url.scheme?.lowercased() ?? "")://\(url.host?.lowercased() ?? ""):\(url.port.map(String.init) ?? "")"
  }

  static let help = ArgumentHelp("An absolute URL, such as https://example.com/file.", valueName: "url")
}
