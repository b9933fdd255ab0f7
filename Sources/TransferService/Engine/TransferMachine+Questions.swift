import Foundation
import TransferProtocol

/// The questions that the engine asks of a transfer. None of them changes it.
extension TransferMachine {
  /// Work is under way that cannot be left alone: a run or an import.
  var isBusy: Bool {
    switch state {
    case .importing, .running, .stopping: true
    case .suspended, .waiting, .waitingForApp, .finishing, .blocked, .over: false
    }
  }

  /// Nothing is under way, and it does not end.
  var isIdle: Bool {
    switch state {
    case .suspended, .waiting, .waitingForApp: true
    case .importing, .running, .stopping, .finishing, .blocked, .over: false
    }
  }

  /// Only the app can make it go on.
  var needsApp: Bool { if case .waitingForApp = state { true } else { false } }

  /// Its app has suspended it, or the user pauses it: the time for the whole resource stands still. That of one that is set aside
  /// goes on.
  var stopsTime: Bool { rests && !(isSetAside && hold?.goesOn == true) }

  /// It waits, or is set aside, and its time passes.
  var mayRunOutOfTime: Bool {
    switch state {
    case .waiting, .waitingForApp: true
    case .suspended: isSetAside && hold?.goesOn == true
    case .importing, .running, .stopping, .finishing, .blocked, .over: false
    }
  }

  /// How many bytes the disk had no room for when it last ran; nil when it had.
  var neededSpace: Int64? {
    guard case .waiting(let delay?) = state, case .noSpace(let needed, _) = delay.reason else { return nil }
    return needed
  }

  /// Whether it can wait, and does so for the conditions of the machine.
  var isHeldByConditions: Bool {
    guard case .waiting(let delay?) = state else { return false }
    switch delay.reason {
    case .discretionary, .conditionsUnknown, .poorThroughput: return true
    default: return false
    }
  }

  /// The key of its request, or a new request, is not there yet.
  var isHeldByReading: Bool {
    guard case .waiting(let delay?) = state else { return false }
    switch delay.reason {
    case .keychain, .requestChange: return true
    default: return false
    }
  }

  /// Its app is asked how it begins.
  var isHeldByQuestion: Bool {
    guard case .waiting(let delay?) = state else { return false }
    return delay.reason == .delayedRequest
  }

  /// Its end is to be written to the queue.
  var awaitsStorage: Bool {
    switch state {
    case .finishing, .blocked: true
    case .suspended, .waiting, .waitingForApp, .importing, .running, .stopping, .over: false
    }
  }

  /// It does not go on, whatever is asked for.
  var isEnding: Bool {
    switch state {
    case .finishing, .blocked, .over: true
    case .importing(let then), .stopping(let then):
      switch then {
      case .cancel, .discard: true
      case .wait, .suspend: false
      }
    case .suspended, .waiting, .waitingForApp, .running: false
    }
  }

  /// It was cancelled while another end was being written.
  var isCancelledLate: Bool { lateCancellation != nil }

  /// Its end comes without a request of the app.
  var isActive: Bool {
    switch state {
    case .suspended, .waitingForApp, .over: false
    case .waiting, .importing, .running, .stopping, .finishing, .blocked: true
    }
  }

  var canSuspend: Bool {
    if let hold { return hold.goesOn && rests }
    return runsOrWaits
  }

  var canResume: Bool { rests && hold?.goesOn != true }

  /// By the user, or set aside.
  var isHeld: Bool { hold != nil }

  var isSetAside: Bool { hold?.isSetAside == true }

  var canHold: Bool { (hold == nil || isSetAside) && (rests || runsOrWaits) }

  /// It runs or waits, or does so again when what is under way has ended.
  var runsOrWaits: Bool {
    switch state {
    case .waiting, .waitingForApp, .running, .importing(then: .wait), .stopping(then: .wait): true
    default: false
    }
  }

  /// It does not run, or will not when what is under way has ended, until it is resumed.
  var rests: Bool {
    switch state {
    case .suspended, .importing(then: .suspend), .stopping(then: .suspend): true
    default: false
    }
  }
}
