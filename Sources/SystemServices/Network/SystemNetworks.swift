import Synchronization

/// The networks of this machine: the kernel's routes, its devices, and NetworkManager where that runs.
///
/// An answer about an interface is kept until the machine's network changes, and for five seconds at most: the user may
/// mark a network as metered at any time, and the kernel does not report that.
package final class SystemNetworks: NetworkDescribing {
  package static let shared = SystemNetworks()

  private struct Entry {
    let traits: NetworkTraits
    let age: ContinuousClock.Instant
    let generation: Int
  }

  private struct State {
    var known: [NetworkInterface: Entry] = [:]
    var token: NetworkMonitor.Token?
  }

  private let classes: String
  private let manager: NetworkManagerBus?
  private let state = Mutex(State())

  private static let trust = Duration.seconds(5)

  /// - Parameter classes: the kernel's folder of interfaces.
  /// - Parameter manager: nil for a machine without NetworkManager.
  package init(classes: String = "/sys/class/net", manager: NetworkManagerBus? = NetworkManagerBus()) {
    self.classes = classes
    self.manager = manager
  }

  deinit { if let token = state.withLock({ $0.token }) { NetworkMonitor.shared.remove(token) } }

  package func traits(towards destination: NetworkAddress, from source: NetworkAddress?) -> NetworkTraits? {
    switch NetworkInterface.way(to: destination, from: source) {
    case .none: nil
    case .local: []
    case .interface(let interface): traits(of: interface)
    }
  }

  package func traits(of interface: NetworkInterface) -> NetworkTraits {
    watch()
    // Read before the questions: a change meanwhile makes the answer outdated.
    let generation = NetworkMonitor.shared.generation
    let now = ContinuousClock.now
    if let entry = state.withLock({ $0.known[interface] }), entry.generation == generation,
      now - entry.age < SystemNetworks.trust
    {
      return entry.traits
    }
    let traits = interface.name.map { facts(about: $0).traits } ?? []
    state.withLock { $0.known[interface] = Entry(traits: traits, age: now, generation: generation) }
    return traits
  }

  package func facts(about name: String) -> NetworkFacts {
    var facts = NetworkFacts()
    // Traffic over the loopback interface never costs money.
    guard name != "lo" else { return facts }
    NetworkInterface.describe(name, in: classes, &facts)
    manager?.describe(name, &facts)
    return facts
  }

  package func add(_ changed: @escaping @Sendable () -> Void) -> NetworkMonitor.Token {
    NetworkMonitor.shared.add(changed)
  }

  package func remove(_ token: NetworkMonitor.Token) { NetworkMonitor.shared.remove(token) }

  package func lookForChange() { NetworkMonitor.shared.lookIfUnreported() }

  /// The monitor counts changes only while it has an observer. The observer of this object forgets all answers at the
  /// first change, and removes itself.
  private func watch() {
    guard state.withLock({ $0.token == nil }) else { return }
    let token = NetworkMonitor.shared.add { [weak self] in self?.forget() }
    let surplus = state.withLock { state -> NetworkMonitor.Token? in
      guard state.token == nil else { return token }
      state.token = token
      return nil
    }
    if let surplus { NetworkMonitor.shared.remove(surplus) }
  }

  private func forget() {
    let token = state.withLock { state -> NetworkMonitor.Token? in
      state.known = [:]
      defer { state.token = nil }
      return state.token
    }
    if let token { NetworkMonitor.shared.remove(token) }
  }
}
