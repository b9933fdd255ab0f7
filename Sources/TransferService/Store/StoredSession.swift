import Foundation
import GRDB
import SystemServices
import TransferProtocol

package typealias AppID = Int64
package typealias SessionID = Int64
package typealias TransferID = Int64

/// One background session of one app, as it is kept.
package struct StoredSession: Sendable, Equatable {
  package var id: SessionID
  package var app: AppID
  package var identifier: String
  package var options: SessionOptions
  package var nextTaskIdentifier: Int
  package var executable: ExecutableIdentity
  /// Launches of the app since it last said that it was done.
  package var launches: Int
  /// Launches that make the next pause longer.
  package var recentLaunches = 0
  package var lastLaunch: DurableInstant?
  /// The process that attached last.
  package var holder: StoredHolder?
  /// Whether the app has decided about a TLS connection otherwise than the rules would.
  package var judgesConnections = false
  /// The options with the logins of proxies, which `options` are without; nil where there are none.
  package var sealedOptions: Data?
  /// The additional header fields, which `options` are without; nil where there are none.
  package var sealedFields: Data?
}

/// A process that held a session, in one start of the machine: in the next its number means nothing.
package struct StoredHolder: Codable, Sendable, Equatable {
  package var process: ProcessIdentity
  package var bootID: String

  package init(process: ProcessIdentity, bootID: String) {
    self.process = process
    self.bootID = bootID
  }
}

extension StoredSession: FetchableRecord {
  /// Selects the columns that `init(row:)` reads.
  static let query = """
    SELECT sessions.id, sessions.app, identifier, options, nextTaskIdentifier, launches, lastLaunch, holder, judgesConnections,
      recentLaunches, sealedOptions, sealedFields, executable, apps.path
    FROM sessions JOIN apps ON apps.id = sessions.app
    """

  private struct Columns: Decodable, FetchableRecord {
    var id: SessionID
    var app: AppID
    var identifier: String
    var nextTaskIdentifier: Int
    var launches: Int
    var recentLaunches: Int
    var path: String
    var judgesConnections: Bool
    var sealedOptions: Data?
    var sealedFields: Data?
    @JSONStored var options: SessionOptions?
    @JSONStored var lastLaunch: DurableInstant?
    @JSONStored var holder: StoredHolder?
    @JSONStored var executable: ExecutableIdentity?
  }

  /// Unreadable columns have the values of an app that says nothing; the next attachment repairs them.
  package init(row: Row) throws {
    let columns = try Columns(row: row)
    self.init(
      id: columns.id, app: columns.app, identifier: columns.identifier, options: columns.options ?? SessionOptions(),
      nextTaskIdentifier: columns.nextTaskIdentifier,
      executable: columns.executable
        ?? ExecutableIdentity(path: columns.path, device: 0, inode: 0, owner: geteuid()),
      launches: columns.launches, recentLaunches: columns.recentLaunches, lastLaunch: columns.lastLaunch,
      holder: columns.holder, judgesConnections: columns.judgesConnections, sealedOptions: columns.sealedOptions,
      sealedFields: columns.sealedFields)
  }
}
