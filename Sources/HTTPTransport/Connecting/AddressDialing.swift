import DequeModule
import NIOCore
import SystemServices

/// Connects to the first address of a host that answers: performs what `AddressRace` decides. Confined to the loop.
final class AddressDialing: @unchecked Sendable {
  /// Opens a socket and connects it.
  typealias Connect = (SocketAddress) -> EventLoopFuture<any Channel>

  /// No address of the host could be connected to.
  struct Failure: Error {
    /// Why, for each address that was tried, in the order in which they failed; empty where the host has no address.
    let errors: [any Error]
  }

  /// A connection that could not be prepared, for a reason that holds for every address.
  struct Unprepared: Error { let cause: any Error }

  private let attempt: ConnectionAttempt
  private let host: String
  private let port: Int
  private let limit: TimeAmount
  private let connect: Connect
  private let server: NameMemory.Server
  private let promise: EventLoopPromise<any Channel>
  private var race: AddressRace
  private var actions: Deque<AddressRace.Action> = []
  private var isPerforming = false
  private var timers: [AddressRace.Timer: Scheduled<Void>] = [:]
  private var limitTimer: Scheduled<Void>?
  private var freshTimer: Scheduled<Void>?
  private var errors: [any Error] = []
  private var tried: Set<NetworkAddress> = []
  private var hasAskedAfresh = false
  private var winner: (address: NetworkAddress, channel: any Channel)?
  private var isOver = false

  /// Of RFC 8305 §8.
  private static func duration(of timer: AddressRace.Timer) -> TimeAmount {
    switch timer {
    case .resolutionDelay: .milliseconds(50)
    case .attemptDelay: .milliseconds(250)
    }
  }

  /// How long addresses that were kept have, before the name servers are asked whether there are others by now.
  static let keptAnswerPatience = TimeAmount.seconds(1)

  /// Of each family: finding their sources takes system calls on the loop.
  private static let mostAddresses = 32

  /// - Parameter limit: for all of it, the lookups included.
  init(_ attempt: ConnectionAttempt, limit: TimeAmount, connect: @escaping Connect) {
    self.attempt = attempt
    (host, port) = attempt.key.dialled
    self.limit = limit
    self.connect = connect
    server = NameMemory.Server(attempt.key)
    race = AddressRace(lastWinner: attempt.memory.winner(of: server))
    promise = attempt.loop.makePromise(of: (any Channel).self)
  }

  private var loop: any EventLoop { attempt.loop }

  /// The connected socket. Fails with `Failure`, `ChannelError.connectTimeout` past the limit, `Unprepared` when that is why
  /// an address failed, or `shutDown` when it is given up. Call once.
  func start() -> EventLoopFuture<any Channel> {
    loop.assertInEventLoop()
    attempt.dialing = self
    limitTimer = loop.assumeIsolated().scheduleTask(in: limit) { [weak self] () -> Void in
      guard let self else { return }
      self.limitPassed()
    }
    freshTimer = loop.assumeIsolated().scheduleTask(in: AddressDialing.keptAnswerPatience) {
      [weak self] () -> Void in
      self?.askBeside()
    }
    attempt.resolver.start(host) { family, addresses in self.answered(family, addresses) }
    return promise.futureResult
  }

  /// Ends the wait for answers and closes every socket.
  func giveUp() {
    loop.assertInEventLoop()
    finish(.failure(TransportError.shutDown))
  }

  private func answered(_ family: AddressFamily, _ addresses: [NetworkAddress]) {
    loop.assertInEventLoop()
    guard !isOver else { return }
    let candidates = addresses.filter { !tried.contains($0) }.prefix(AddressDialing.mostAddresses).map {
      DestinationOrder.Candidate($0, from: attempt.memory.source(towards: $0))
    }
    perform(race.answered(family, candidates))
  }

  // MARK: Performing

  /// An attempt may end before the call that begins it returns; what follows from that is performed by the same loop.
  private func perform(_ new: [AddressRace.Action]) {
    loop.assertInEventLoop()
    actions.append(contentsOf: new)
    guard !isPerforming else { return }
    isPerforming = true
    defer { isPerforming = false }
    while !isOver, let action = actions.popFirst() {
      switch action {
      case .connect(let number, let address): dial(number, address)
      case .start(let timer): start(timer)
      case .stop(let timer): timers.removeValue(forKey: timer)?.cancel()
      case .finish: succeed()
      case .fail: fail()
      }
    }
  }

  private func start(_ timer: AddressRace.Timer) {
    timers[timer]?.cancel()
    timers[timer] = loop.assumeIsolated().scheduleTask(in: AddressDialing.duration(of: timer)) {
      [weak self] () -> Void in
      guard let self else { return }
      self.perform(self.race.elapsed(timer))
    }
  }

  private func dial(_ number: AddressRace.Attempt, _ address: NetworkAddress) {
    tried.insert(address)
    connect(SocketAddress(address, port: port, host: host)).assumeIsolated().whenComplete { result in
      switch result {
      case .success(let channel): self.connected(number, address, channel)
      case .failure(let error): self.failed(number, error)
      }
    }
  }

  private func connected(_ number: AddressRace.Attempt, _ address: NetworkAddress, _ channel: any Channel) {
    loop.assertInEventLoop()
    // Another one was there first, perhaps in the same turn of the loop.
    guard !isOver, !race.isOver else { return channel.close(promise: nil) }
    winner = (address, channel)
    perform(race.connected(number))
  }

  private func failed(_ number: AddressRace.Attempt, _ error: any Error) {
    loop.assertInEventLoop()
    guard !isOver else { return }
    if let error = error as? Unprepared { return finish(.failure(error)) }
    errors.append(error)
    perform(race.failed(number))
  }

  // MARK: The end

  private func succeed() {
    guard let winner else { return finish(.failure(Failure(errors: errors))) }
    attempt.winner = (server, winner.address)
    finish(.success(winner.channel))
  }

  /// Addresses that were kept may be those of another server by now: then the name servers are asked once, and the addresses
  /// are tried that are new.
  private func fail() {
    attempt.memory.forgetWinner(of: server)
    guard attempt.resolver.hasKeptAnswers, !hasAskedAfresh, !ConnectionAttempt.areUnreachable(errors) else {
      return finish(.failure(Failure(errors: errors)))
    }
    hasAskedAfresh = true
    race = AddressRace()
    attempt.resolver.startAfresh { family, addresses in self.answered(family, addresses) }
  }

  /// The same where addresses that were kept do not answer: those that are new join the race.
  private func askBeside() {
    loop.assertInEventLoop()
    guard !isOver, attempt.resolver.hasKeptAnswers, !hasAskedAfresh, !tried.isEmpty else { return }
    hasAskedAfresh = true
    race.askedAgain()
    attempt.resolver.startAfresh { family, addresses in self.answered(family, addresses) }
  }

  private func limitPassed() {
    loop.assertInEventLoop()
    attempt.memory.forgetWinner(of: server)
    let timeout = ChannelError.connectTimeout(limit)
    finish(.failure(errors.isEmpty ? timeout : Failure(errors: errors + [timeout])))
  }

  private func finish(_ result: Result<any Channel, any Error>) {
    loop.assertInEventLoop()
    guard !isOver else { return }
    isOver = true
    limitTimer?.cancel()
    limitTimer = nil
    freshTimer?.cancel()
    freshTimer = nil
    for timer in timers.values { timer.cancel() }
    timers = [:]
    actions = []
    winner = nil
    attempt.dialing = nil
    attempt.resolver.cancel()
    attempt.closeSockets(except: try? result.get())
    promise.completeWith(result)
  }
}
