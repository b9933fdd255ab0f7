import ArgumentParser
import CommandLineOutput
import Foundation
import URLLoadingSystem

/// The output of `download --json` without `--wait`, of one URL.
struct QueuedReport: Encodable, Sendable {
  var transfer: Int64
  var session: String
  var url: String
  /// The file asked for, or the folder where the server's name for it is used.
  var destination: String
}

/// The same of several URLs.
struct QueuedReports: Encodable, Sendable {
  var transfers: [QueuedReport]
}
