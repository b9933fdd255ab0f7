import SystemServices
import URLLoadingSystem

/// The service and its surroundings as `doctor` finds them. The checks look at nothing else.
struct ServiceFacts: Sendable, Equatable {
  /// A folder or a file, as lstat(2) tells it.
  struct Entry: Sendable, Equatable {
    var isFolder = true
    var isLink = false
    var isOwn = true
    /// The permissions, such as 0o700.
    var mode: UInt32 = 0o700
    /// Whether files can be made there. False on a disk that is mounted for reading, for example.
    var isWritable = true
  }

  /// The file of the queue's key.
  enum KeyFile: Sendable, Equatable {
    /// There is none, and none is known to be needed.
    case none
    /// The service has found out that it is gone.
    case missing
    case found(isOwn: Bool, mode: UInt32, isReadable: Bool, isWhole: Bool)
  }

  /// The file of the queue, or the thing that has its name; of a link, the thing that it leads to.
  struct Queue: Sendable, Equatable {
    var isFile = true
    var isOwn = true
    var mode: UInt32 = 0o600
    /// Whether it begins as SQLite's files do, or is empty.
    var isDatabase = true
    /// Why it can't be opened; nil when it can.
    var fault: String?
  }

  enum Service: Sendable, Equatable {
    case running(version: String, pid: Int32)
    case notRunning
    /// Its storage can't be used; the sentence says why.
    case waiting(String)
    /// It can't be asked; the sentence says why.
    case failing(String)
  }

  var commandVersion: String
  var service = Service.notRunning
  /// The path of the program that would be started; nil when it is not found.
  var program: String?
  /// The program that the environment names; nil where it names none.
  var namedProgram: String?
  var runtimeFolder: String
  /// Why no folder can be the runtime folder; nil when one can.
  var runtimeFault: String?
  /// nil when there is none.
  var runtime: Entry?
  var socketPath: String
  var socket: Entry?
  var stateFolder: String
  var state: Entry?
  /// Seconds for which the folder of the last queue, which is gone, is still waited for; nil where it is not.
  var missingQueue: Double?
  /// nil when there is none.
  var queue: Queue?
  /// Those of `ServiceNames.folders` that are there.
  var folders: [String: Entry] = [:]
  /// The folders in which a folder that is not there can't be made.
  var closedParents: [String: String] = [:]
  /// Whether the user has a manager of systemd.
  var hasSystemd = false
  /// The file of the unit; nil when there is none.
  var unit: String?
  var isUnitEnabled = false
  /// Whether the user's manager goes on after a logout; nil where that can't be told.
  var lingers: Bool?
  /// Whether a keychain, or the file that the user named instead, takes secrets.
  var hasKeyring = true
  var key = KeyFile.none
  /// Bytes; nil when they are not known.
  var freeSpace: Int64?
  /// Whether the disk has room for another file, however small.
  var hasFreeFiles = true
  /// Names under `set-aside` and `quarantine`.
  var setAside: [String] = []
  var quarantined: [String] = []
  /// Why the last service that an app has started ended before it served; nil where it has served.
  var startFailure: ServiceStartFailure?
  /// Whether a process is there that starts the service again.
  var hasSupervisor = false
  /// Whether a process has locked the queue.
  var isQueueLocked = false
  /// nil when there is none.
  var lock: Entry?
}
