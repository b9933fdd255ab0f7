import Foundation

/// Asks logind to tell when the machine sleeps, over a connection to the bus. It is not started where it does not run. Used by
/// one thread at a time.
final class SleepBus: WatchedBus {
  private let bus: SystemBus

  private static let manager = SystemBus.Object(
    service: "org.freedesktop.login1", path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager")
  private static let signal = "PrepareForSleep"

  /// nil where there is no bus.
  init?(address: String?) {
    guard let bus = SystemBus(address: address) else { return nil }
    self.bus = bus
  }

  /// Readable when the bus has something to tell.
  var descriptor: Int32 { bus.descriptor }

  /// Asks the bus to tell of sleep.
  func subscribe() {
    let manager = SleepBus.manager
    bus.addMatch(
      "type='signal',sender='\(manager.service)',path='\(manager.path)',interface='\(manager.interface)',"
        + "member='\(SleepBus.signal)'")
  }

  /// nil where logind does not run, or refuses it.
  func takeLock() -> SleepLock? {
    let words = ["sleep", "urlsessiond", "What transfers have received is written to the disk", "delay"]
    return try? bus.ask(SleepBus.manager, "Inhibit") { message in
      for word in words { try bus.append(message, word) }
    } reading: {
      SleepLock(try bus.fileDescriptor($0))
    }
  }

  enum News {
    case falls, ended, other, none
    /// The connection has ended.
    case gone
  }

  /// Takes one message.
  func next() -> News {
    var news = News.other
    let hasAny = bus.takeMessage { message in
      guard bus.isSignal(message, SleepBus.manager, SleepBus.signal),
        // Another process may send one of that name to this connection alone.
        let sender = bus.sender(of: message), sender == (try? bus.owner(of: SleepBus.manager.service))
      else { return }
      if let falls = try? bus.flag(message) { news = falls ? .falls : .ended }
    }
    return switch hasAny {
    case true?: news
    case false?: .none
    case nil: .gone
    }
  }
}
