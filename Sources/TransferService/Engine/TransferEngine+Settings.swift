import Foundation

extension TransferEngine {
  package struct Settings: Sendable {
    package var limits = Scheduler.Limits()
    package var launches = LaunchSchedule()
    /// How long after its start the service leaves apps that are running the time to come back.
    package var launchGrace: TimeInterval = 3
    /// How long the network has to be left alone after a change before retries are made at once, in seconds.
    package var networkSettling: TimeInterval = 1
    /// How many last statuses a watcher that does not read is owed before its connection is closed.
    package var owedStatuses = 4_096
    /// How many events a session may have on the way unacknowledged.
    package var deliveryWindow = 64
    package var programVersion = "0"
    /// Seconds without work and clients after which `onIdle` is called; nil means never.
    package var idleExit: TimeInterval?
    package var historyAge: TimeInterval = 7 * 86_400
    package var historyLength = 1_000
    /// After how many more finished transfers the history is shortened.
    package var pruningInterval = 200
    /// Seconds after which an app that was launched and is still there no longer keeps from launching it again.
    package var launchPatience: TimeInterval = 1_800
    /// Seconds after which a transfer that waits for its app's answer keeps no other app's from running. A person may have
    /// to be asked, so the question stays.
    package var questionPatience: TimeInterval = 60
    /// How many transfers an app may have that are not over or not wholly told.
    package var transfersPerApp = 20_000
    /// How many sessions an app may have, those included that have nothing to do. The oldest of these are forgotten.
    package var sessionsPerApp = 256
    package var sessionsPerConnection = 64
    /// How many cancellations of an app may be unanswered: far more than it sends at a time, and little memory.
    package var waitingCancellationsPerApp = 4_096
    /// Seconds from a change of the queue to its copy.
    package var copyInterval: TimeInterval = 60
    /// Seconds until a queue that could not be read or written is tried again.
    package var storagePatience: TimeInterval = 5

    package init() {}
  }
}
