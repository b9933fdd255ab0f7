import Foundation
import SystemServices

/// The life of one session as a value: its holder, the events that are on the way, and whether its app has to be
/// started. Events go in, actions come out; it reads no clock, no process table and no queue.
///
/// The queue keeps the events; the machine counts them. They are sent to the holder in order, a window at a time, and
/// again to the next holder, until they are acknowledged. With no holder, the app is started where a transfer waits for its
/// answer, and where an event waits and no transfer is active, after pauses that grow with each start in vain.
struct SessionMachine: Sendable, Equatable {
  struct Rules: Sendable, Equatable {
    /// How many events may be on the way unacknowledged.
    var deliveryWindow: Int
    var launches: LaunchSchedule
    /// Apps that outlived the previous service have until then to come back by themselves.
    var earliestLaunch: BootInstant
    /// How often a start that fails for a reason that may pass is tried.
    var failedStarts = 9
  }

  /// A connection that holds the session.
  struct Attachment: Sendable, Equatable {
    let connection: UInt64
    var delivery = Delivery.off
    /// `eventsFinished` was promised and has not been sent.
    var owesEventsFinished: Bool
    /// The app says that it has handled the events it was started for.
    var saysDone = false
    /// Whether its process was started for events.
    var isOfLaunch = false
  }

  enum Delivery: Sendable, Equatable {
    /// The app has not asked for events yet.
    case off
    /// Nothing under way; the next event can be sent.
    case ready(Progress)
    /// The runner was told to read events and send them.
    case reading(Progress)
    /// The app reads too slowly: nothing is sent until its connection takes more.
    case full(Progress)
    /// The queue could not be read; a timer is set.
    case unreadable(Progress)

    struct Progress: Sendable, Equatable {
      /// The newest event that was sent on this connection.
      var lastSent: Int64 = 0
      var unacknowledged: Set<Int64> = []
      /// Sent on this connection, and left in the queue by the app.
      var kept: Set<Int64> = []
      /// How many of the events in the queue were sent on this connection.
      var sentCount: Int { unacknowledged.count + kept.count }
    }
  }

  enum Launch: Sendable, Equatable {
    case none
    /// A timer is set: the pause is not over.
    case planned(until: BootInstant)
    /// The runner was told to look whether the holder's process lives.
    case checkingHolder
    /// The holder's process lives, and the runner tells its end.
    case awaitingHolder
    /// The runner was told to start the app.
    case starting
    /// The app that was started runs. A timer is set, since one that hangs must not keep its session for ever.
    case running(number: Int)
    /// The app cannot be started until it has attached by itself.
    case refused
  }

  let rules: Rules
  private(set) var attachment: Attachment?
  private(set) var launch = Launch.none
  /// Events in the queue that are not acknowledged.
  private(set) var pending: Int
  /// Events that a reading of the queue did not find, and that `pending` no longer counts: the commit that removed them is
  /// visible before their removal is told here.
  private var missing = 0
  /// Transfers that are not over, and those of them that are not suspended.
  private(set) var unfinished: Int
  private(set) var active: Int
  /// Transfers that wait for the app to answer a server's question.
  private(set) var unanswered = 0
  /// Starts of the app since it last said that it was done.
  private(set) var launches: Int
  /// Starts of the app that make the next pause longer, those included after which it said that it was done. An app that
  /// queues something at each start would otherwise be started without a pause.
  private(set) var recentLaunches: Int
  private(set) var lastLaunch: BootInstant?
  /// The process that held the session last, until it is known to have ended. As long as it lives, the app is not
  /// started a second time.
  private var lastHolder: ProcessIdentity?
  private var sendsLaunchEvents: Bool
  /// Whether a process that the service has not started has come since the present start was decided.
  private var hasComeByItself = false

  init(
    rules: Rules, pending: Int = 0, unfinished: Int = 0, active: Int = 0, launches: Int = 0, recentLaunches: Int = 0,
    lastLaunch: BootInstant? = nil, lastHolder: ProcessIdentity? = nil, sendsLaunchEvents: Bool = true
  ) {
    self.rules = rules
    self.pending = pending
    self.unfinished = unfinished
    self.active = active
    self.launches = launches
    self.recentLaunches = max(launches, recentLaunches)
    self.lastLaunch = lastLaunch
    self.lastHolder = lastHolder
    self.sendsLaunchEvents = sendsLaunchEvents
  }

  // MARK: Questions

  /// The connection that takes pushes; nil when no connection does.
  var receiver: UInt64? {
    guard let attachment, attachment.delivery != .off else { return nil }
    return attachment.connection
  }

  /// Whether a process holds the session that the service did not start: one that the user or another program runs. A process
  /// that was started for another session, or by an earlier life of the service, says so itself.
  var isInForeground: Bool {
    guard let attachment, !attachment.isOfLaunch else { return false }
    switch launch {
    case .starting, .running: return false
    case .none, .planned, .checkingHolder, .awaitingHolder, .refused: return true
    }
  }

  /// An app is being started, or will be: the service has to stay for it.
  var awaitsLaunch: Bool {
    switch launch {
    case .none, .refused: false
    case .planned, .checkingHolder, .awaitingHolder, .starting, .running: true
    }
  }

  // MARK: Events

  mutating func handle(_ event: Event, at now: BootInstant) -> [Action] { apply(event, at: now) + due(at: now) }

  private mutating func apply(_ event: Event, at now: BootInstant) -> [Action] {
    switch event {
    case .recovered, .clockMoved: return []
    case .attached(let holder): return attached(holder)
    case .released: return released()
    case .invalidated:
      pending = 0
      missing = 0
      launches = 0
      return released()
    case .deliveryStarted: return deliveryStarted()
    case .saidDone:
      guard attachment == nil else {
        attachment?.saysDone = true
        return []
      }
      if pending == 0 { return launchesAreHandled() }
    case .eventsAppended(let count): pending += count
    case .eventsRemoved(let count): remove(count)
    case .acknowledged(let sequences, let removed):
      remove(removed)
      changeProgress {
        $0.unacknowledged.subtract(sequences)
        $0.kept.subtract(sequences)
      }
    case .kept(let sequences):
      changeProgress { progress in
        for sequence in sequences where progress.unacknowledged.remove(sequence) != nil {
          progress.kept.insert(sequence)
        }
      }
    case .eventsSent(let sequences, let connection): eventsSent(sequences, to: connection)
    case .holderTookNone(let connection):
      guard case .reading(let progress) = delivery(of: connection) else { return [] }
      attachment?.delivery = .full(progress)
    case .holderTakesMore:
      guard case .full(let progress) = attachment?.delivery else { return [] }
      attachment?.delivery = .ready(progress)
    case .eventsUnreadable(let connection):
      guard case .reading(let progress) = delivery(of: connection) else { return [] }
      attachment?.delivery = .unreadable(progress)
      return [.setDeliveryTimer]
    case .deliveryTimerFired:
      guard case .unreadable(let progress) = attachment?.delivery else { return [] }
      attachment?.delivery = .ready(progress)
    case .transferAdded: unfinished += 1
    case .transferBecameActive: active += 1
    case .transferBecameInactive: active -= 1
    case .transferNeedsApp: unanswered += 1
    case .transferNeedsNoApp: unanswered -= 1
    case .transferEnded: unfinished -= 1
    case .launchTimerFired:
      guard case .planned(let until) = launch else { return [] }
      if now < until { return [.setLaunchTimer(seconds: until - now)] }
      launch = .none
    case .holderChecked(let process, let isAlive):
      // The number of a process that has ended and its start time never come back together.
      if !isAlive, lastHolder == process { lastHolder = nil }
      switch launch {
      case .checkingHolder: launch = isAlive ? .awaitingHolder : .none
      case .awaitingHolder where !isAlive: launch = .none
      case .none, .awaitingHolder, .planned, .starting, .running, .refused: break
      }
    case .launched(let number):
      guard launch == .starting else { return [] }
      launch = .running(number: number)
      return [.setPatienceTimer(number: number)]
    case .launchFailed(let reason, let isTemporary):
      guard launch == .starting else { return [] }
      if isTemporary, launches < rules.failedStarts { launch = .none } else { return refuse(reason) }
    case .launchIsNeedless:
      guard launch == .starting else { return [] }
      launch = .none
      // The app came, and perhaps went, and it was not the service that has started it.
      if hasComeByItself { return forgetLaunches() }
    case .launchedAppEnded(let number):
      guard launch == .running(number: number) else { return [] }
      launch = .none
      return [.cancelPatienceTimer]
    case .patienceTimerFired(let number):
      guard launch == .running(number: number) else { return [] }
      launch = .none
    }
    return []
  }

  /// So many events have gone from the queue.
  private mutating func remove(_ count: Int) {
    let known = min(count, missing)
    missing -= known
    pending -= count - known
  }

  private mutating func attached(_ holder: Holder) -> [Action] {
    var actions = released()
    attachment = Attachment(
      connection: holder.connection, owesEventsFinished: pending > 0 || active > 0 || unanswered > 0 || launches > 0,
      isOfLaunch: holder.isOfLaunch)
    lastHolder = holder.process
    sendsLaunchEvents = holder.sendsLaunchEvents
    switch launch {
    case .planned:
      launch = .none
      actions.append(.cancelLaunchTimer)
    case .awaitingHolder:
      launch = .none
      actions.append(.stopWatchingHolder)
    case .refused: launch = .none
    case .none, .checkingHolder: break
    // The app is attached because it was started, not because its user wanted it.
    case .starting, .running:
      if !holder.isOfLaunch { hasComeByItself = true }
      return actions
    }
    // So is a process that a started app has left behind, and one whose service was started anew.
    return holder.isOfLaunch ? actions : actions + forgetLaunches()
  }

  private mutating func released() -> [Action] {
    defer { attachment = nil }
    if case .unreadable = attachment?.delivery { return [.cancelDeliveryTimer] }
    return []
  }

  private mutating func deliveryStarted() -> [Action] {
    guard attachment?.delivery == .off else { return [] }
    attachment?.delivery = .ready(.init())
    return []
  }

  private mutating func eventsSent(_ sequences: [Int64], to connection: UInt64) {
    guard case .reading(var progress) = delivery(of: connection) else { return }
    // The queue has none behind the last one sent, so those that wait are those on the way.
    if sequences.isEmpty {
      missing += max(0, pending - progress.sentCount)
      pending = progress.sentCount
    }
    progress.unacknowledged.formUnion(sequences)
    progress.lastSent = max(progress.lastSent, sequences.max() ?? 0)
    attachment?.delivery = .ready(progress)
  }

  private func delivery(of connection: UInt64) -> Delivery? {
    attachment?.connection == connection ? attachment?.delivery : nil
  }

  private mutating func changeProgress(_ change: (inout Delivery.Progress) -> Void) {
    func changed(_ progress: Delivery.Progress) -> Delivery.Progress {
      var progress = progress
      change(&progress)
      return progress
    }
    switch attachment?.delivery {
    case .ready(let progress): attachment?.delivery = .ready(changed(progress))
    case .reading(let progress): attachment?.delivery = .reading(changed(progress))
    case .full(let progress): attachment?.delivery = .full(changed(progress))
    case .unreadable(let progress): attachment?.delivery = .unreadable(changed(progress))
    case .off, nil: break
    }
  }

  // MARK: Actions that are due after an event

  private mutating func due(at now: BootInstant) -> [Action] {
    var actions = dueDelivery()
    if attachment?.saysDone ?? false, pending == 0 {
      // As long as the app has not acknowledged all it does not count: one that says so and ends at once would
      // otherwise be started without end and without a pause.
      attachment?.saysDone = false
      actions += launchesAreHandled()
    }
    actions += dueLaunch(at: now)
    if isOver { actions.append(.retire) }
    return actions
  }

  private mutating func dueDelivery() -> [Action] {
    guard let attachment, attachment.delivery != .off else { return [] }
    if attachment.owesEventsFinished, pending == 0, active == 0, unanswered == 0 {
      self.attachment?.owesEventsFinished = false
      return [.sendEventsFinished(connection: attachment.connection)]
    }
    guard case .ready(let progress) = attachment.delivery else { return [] }
    // The queue may have further events, of ends that may still be withdrawn. No more are read than are known of.
    let room = min(rules.deliveryWindow - progress.unacknowledged.count, pending - progress.sentCount)
    guard room > 0 else { return [] }
    self.attachment?.delivery = .reading(progress)
    return [.sendEvents(connection: attachment.connection, after: progress.lastSent, limit: room)]
  }

  /// No holder, nothing to do and nothing to tell.
  private var isOver: Bool {
    attachment == nil && unfinished == 0 && pending == 0 && launches == 0 && !awaitsLaunch
  }

  private var wantsLaunch: Bool {
    attachment == nil && sendsLaunchEvents && (unanswered > 0 || active == 0 && (launches > 0 || pending > 0))
  }

  /// Whether the start that was to be noted is still to be made: another process may have taken the session meanwhile, and live
  /// on without it.
  var isStartDue: Bool { launch == .starting && lastHolder == nil && wantsLaunch }

  private mutating func dueLaunch(at now: BootInstant) -> [Action] {
    switch launch {
    case .checkingHolder, .starting, .running, .refused: return []
    case .awaitingHolder:
      if wantsLaunch { return [] }
      launch = .none
      return [.stopWatchingHolder]
    case .none: return wantsLaunch ? considerLaunch(at: now) : []
    case .planned(let until):
      guard wantsLaunch else {
        launch = .none
        return [.cancelLaunchTimer]
      }
      guard now >= until else { return [] }
      launch = .none
      return [.cancelLaunchTimer] + considerLaunch(at: now)
    }
  }

  private mutating func considerLaunch(at now: BootInstant) -> [Action] {
    if let lastHolder {
      launch = .checkingHolder
      return [.checkHolder(lastHolder)]
    }
    let sinceLast = lastLaunch.map { now - $0 }
    if launches == 0, rules.launches.forgets(launches: recentLaunches, sinceLast: sinceLast) { recentLaunches = 0 }
    guard launches < rules.launches.limit else {
      return refuse("it was started \(launches) times and never said that it was done")
    }
    let pause = rules.launches.wait(launches: recentLaunches, sinceLast: sinceLast)
    let wait = max(pause, rules.earliestLaunch - now)
    guard wait <= 0 else { return plan(until: now + wait, at: now) }
    launches += 1
    recentLaunches += 1
    lastLaunch = now
    launch = .starting
    hasComeByItself = false
    return [.launch(launches: launches)]
  }

  private mutating func plan(until: BootInstant, at now: BootInstant) -> [Action] {
    launch = .planned(until: until)
    return [.setLaunchTimer(seconds: until - now)]
  }

  private mutating func refuse(_ reason: String) -> [Action] {
    launch = .refused
    return [.reportRefusal(reason)]
  }

  /// The app was started by its user.
  private mutating func forgetLaunches() -> [Action] {
    guard launches > 0 || recentLaunches > 0 else { return [] }
    launches = 0
    recentLaunches = 0
    lastLaunch = nil
    return [.forgetLaunches]
  }

  /// The app has handled what it was started for. The pause before the next start stays.
  private mutating func launchesAreHandled() -> [Action] {
    guard launches > 0 else { return [] }
    launches = 0
    return [.noteLaunchesHandled]
  }
}
