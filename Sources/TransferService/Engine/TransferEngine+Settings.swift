import Foundation
import SystemServices

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
    /// Called on the engine's queue when there have been no transfers to move and no requests for `restPatience`; nil means
    /// never.
    package var rests: (@Sendable () -> Void)?
    /// Gives back the memory of code that has run. Called on the engine's queue when the service has begun to serve, and on a
    /// thread for files when a large body begins; nil means never.
    package var releasesMemory: (@Sendable () -> Void)?
    package var restPatience: TimeInterval = 3
    package var historyAge: TimeInterval = 7 * 86_400
    package var historyLength = 1_000
    /// After how many more finished transfers the history is shortened.
    package var pruningInterval = 200
    /// Seconds after which an app that was launched and is still there no longer keeps from launching it again.
    package var launchPatience: TimeInterval = 1_800
    /// For a file to begin a download with that does not get further. The download starts at zero then.
    package var resumeFilePatience = Duration.seconds(30)
    /// How long the file system of an app's program may take to show it or to start it.
    package var programPatience = Duration.seconds(30)
    /// Seconds after which a transfer that waits for its app's answer keeps no other app's from running. A person may have
    /// to be asked, so the question stays.
    package var questionPatience: TimeInterval = 60
    /// Seconds after which a transfer whose date has come begins as it is, where its app does not say how it begins.
    package var delayedRequestPatience: TimeInterval = 60
    /// How many transfers an app may have that are not over or not wholly told.
    package var transfersPerApp = 20_000
    package var sessionsPerApp = SessionLimits()
    package var sessionsPerConnection = 64
    /// How many cancellations of an app may be unanswered: far more than it sends at a time, and little memory.
    package var waitingCancellationsPerApp = 4_096
    /// Seconds from a change of the queue to its copy.
    package var copyInterval: TimeInterval = 60
    /// How long, in seconds, a new task waits for the disk to take its second record.
    package var recordPatience: TimeInterval = 10
    /// A queue of more bytes is looked through while the service works, and not before.
    package var longestCheckedQueue = QueueFile.longestChecked
    /// Seconds until a queue that could not be read or written is tried again.
    package var storagePatience: TimeInterval = 5
    /// How often the service may crash while it runs a transfer until that is set aside.
    package var crashesPerTransfer = 3
    /// Whether the service that ended while it ran transfers may have done so because of them.
    package var countsCrashes = true
    /// Seconds until files that could not be removed are tried again.
    package var removalPatience: TimeInterval = 60
    /// Seconds for which a service that ends waits for files that are being removed.
    package var lastRemovalsPatience: TimeInterval = 10
    /// From the delivery of a file that is leased until it is copied.
    package var laterCopyDelay = Duration.seconds(1)
    /// Files from this length on are leased, where that can be, and not copied before they are delivered.
    package var leastLeasedSize: Int64 = 16 << 20
    package var quotas = AppQuotas()
    package var ages = KeptAges()
    /// Seconds from the start of the service in which apps that were away for long may connect before their things are removed. A
    /// service that ends earlier for want of work removes them at its end.
    package var absenceGrace: TimeInterval = 3_600
    /// Seconds between two looks for things that are kept too long.
    package var upkeepInterval: TimeInterval = 6 * 3_600

    /// The program that sees the transfers of every app; nil means that none does.
    package var usersTool: UsersTool?
    /// Whether an update has put another program in the place of the one that runs. It looks at the disk, and is asked only
    /// when an app needs a newer service.
    package var isProgramReplaced: @Sendable () -> Bool = { false }
    /// Whether a program may limit the transfers of all apps.
    package var mayLimitService: @Sendable (ExecutableIdentity) -> Bool = { LimitingProgram.isAllowed($0) }
    /// The conditions for discretionary transfers; nil: they are not known, and hold none back.
    package var conditions: (any ConditionsReporting)?
    /// Tells of the sleep of the machine; nil: nothing does.
    package var sleep: (any SleepReporting)?

    package init() {}
  }
}
