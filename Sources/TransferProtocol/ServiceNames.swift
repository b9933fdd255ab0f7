/// Names that the app's side, the service and its units agree on.
package enum ServiceNames {
  /// The folder of the service below `$XDG_STATE_HOME` and `$XDG_RUNTIME_DIR`.
  package static let directory = "urlsessiond"
  /// The socket in the runtime folder.
  package static let socket = "socket"
  /// The log in the state folder, of a service that an app has started.
  package static let log = "urlsessiond.log"
  /// The queue in the state folder.
  package static let queue = "queue.sqlite"
  /// The copy of the queue, and the note of a queue that is being made anew: each is there where the queue itself may not be.
  package static let queueCopy = "queue-copy.sqlite"
  /// A second name of the copy. It begins otherwise, so that what is removed by `queue*` leaves it.
  package static let secondQueueCopy = "copy-of-queue.sqlite"
  package static let quarantineNote = "quarantine.json"
  /// The folders in the state folder that a service makes at its start. It uses none that is open to others or a link.
  package static let folders = [
    "partial", "complete", "delivery", "uploads", "running", "journals", "enqueued", "spare",
  ]
  /// The program, searched for when the app's side has to start it.
  package static let program = "urlsessiond"
  /// In the environment: the path of the socket, instead of the usual one. Both sides honour it.
  package static let socketVariable = "URLSESSIOND_SOCKET"
  /// In the environment: the full path of the program to start, instead of the one that is found.
  package static let programVariable = "URLSESSIOND_PATH"
  /// In the environment of an app that the service starts: the identifier of the session with events to handle.
  package static let launchSessionVariable = "URLSESSION_LAUNCH_SESSION"
}
