import Foundation
import SystemServices

extension SessionMachine {
  enum Event: Sendable, Equatable {
    /// The service has started and knows the session's transfers.
    case recovered
    case attached(Holder)
    /// The holder gave the session up, or its connection ended.
    case released
    /// The session's events and unfinished transfers were removed from the queue.
    case invalidated
    /// The app asks for its events.
    case deliveryStarted
    /// The app says that it has handled the events it was started for: the holder or, when there is none, any connection
    /// of the app.
    case saidDone
    /// Events that were written to the queue.
    case eventsAppended(Int)
    /// Events that were taken out of the queue without an acknowledgement, since their file is lost.
    case eventsRemoved(Int)
    /// `removed`: how many of them the queue had.
    case acknowledged([Int64], removed: Int)

    /// Events that arrived and that the app can't handle: they stay in the queue.
    case kept([Int64])

    // Answers to `sendEvents`. One for an earlier holder changes nothing.

    /// None are sent only when the queue has none that was not sent before.
    case eventsSent([Int64], connection: UInt64)
    case holderTookNone(connection: UInt64)
    case eventsUnreadable(connection: UInt64)

    case holderTakesMore
    case deliveryTimerFired

    case transferAdded
    case transferBecameActive
    case transferBecameInactive
    /// Follows `transferBecameInactive`, and the events of its end.
    case transferEnded

    /// Precedes `transferBecameInactive`.
    case transferNeedsApp
    /// Follows `transferBecameActive`.
    case transferNeedsNoApp

    case clockMoved
    case launchTimerFired
    /// Comes a second time when a process that lived has ended.
    case holderChecked(ProcessIdentity, isAlive: Bool)
    case launched(number: Int)
    case launchFailed(String, isTemporary: Bool)
    /// A process of the app has attached before it was started.
    case launchIsNeedless
    case launchedAppEnded(number: Int)
    case patienceTimerFired(number: Int)
  }

  struct Holder: Sendable, Equatable {
    let connection: UInt64
    let process: ProcessIdentity
    let sendsLaunchEvents: Bool
    /// Whether it was started for events, this session's or another's.
    let isOfLaunch: Bool
  }

  enum Action: Sendable, Equatable {
    /// Read events from the queue and send them. Answer: `eventsSent`, `holderTookNone` or `eventsUnreadable`.
    case sendEvents(connection: UInt64, after: Int64, limit: Int)
    case sendEventsFinished(connection: UInt64)
    /// Answer: `deliveryTimerFired`.
    case setDeliveryTimer
    case cancelDeliveryTimer
    /// Answer: `launchTimerFired`.
    case setLaunchTimer(seconds: TimeInterval)
    case cancelLaunchTimer
    /// Answer: `holderChecked`, and again when a process that lives ends, until `stopWatchingHolder`.
    case checkHolder(ProcessIdentity)
    case stopWatchingHolder
    /// Note the number of starts in the queue, then start the app. Answer: `launched`, `launchFailed` or `launchIsNeedless`.
    case launch(launches: Int)
    /// Answer: `patienceTimerFired`.
    case setPatienceTimer(number: Int)
    case cancelPatienceTimer
    /// Note in the queue that the app has handled the events it was started for.
    case noteLaunchesHandled
    /// Note in the queue that the app was started by its user.
    case forgetLaunches
    /// Say in the log why the app is not started.
    case reportRefusal(String)
    /// The last action: the session needs no memory.
    case retire
  }
}
