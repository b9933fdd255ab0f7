import NIOCore
import SystemServices

/// Looks for an open connection of another origin that may serve a request: its certificate covers the host, the host's name
/// leads to its address, and the server is trusted under that name. Confined to the loop of the load.
final class CoalescedLease: @unchecked Sendable {
  private let key: ConnectionKey
  private let handshake: any HandshakeClient
  private let coalescing: ConnectionCoalescing
  private let names: NameLookups
  private let caller: LoopExecutor
  private var candidates: ArraySlice<CoalescingTable.Candidate>
  private var completion: (((any HTTPExchange)?) -> Void)?
  /// The addresses of the host; nil before they are known.
  private var addresses: [AddressFamily: [NetworkAddress]] = [:]

  /// nil when there is no such connection, as far as is known at once. An app that may be asked about servers is asked with
  /// a connection of each host.
  init?(
    for key: ConnectionKey, handshake: any HandshakeClient, _ coalescing: ConnectionCoalescing, names: NameLookups,
    caller: LoopExecutor
  ) {
    guard !coalescing.isEmpty, !handshake.mayBeAsked else { return nil }
    let candidates = coalescing.candidates(for: key, limits: handshake.limits)
    guard !candidates.isEmpty else { return nil }
    self.key = key
    self.handshake = handshake
    self.coalescing = coalescing
    self.names = names
    self.caller = caller
    self.candidates = candidates[...]
  }

  /// Calls `completion` once on the caller's loop, perhaps before this returns; with nil where no connection is shared.
  func start(_ completion: @escaping ((any HTTPExchange)?) -> Void) {
    caller.loop.assertInEventLoop()
    self.completion = completion
    tryNext()
  }

  private func finish(_ exchange: (any HTTPExchange)?) {
    caller.loop.assertInEventLoop()
    let completion = self.completion
    self.completion = nil
    completion?(exchange)
  }

  private func tryNext() {
    caller.loop.assertInEventLoop()
    guard let candidate = candidates.popFirst() else { return finish(nil) }
    if candidate.isAdmitted { return lease(candidate) }
    resolve(candidate.connection.address.family) { found in
      guard found.contains(candidate.connection.address) else { return self.judged(candidate, isAdmitted: false) }
      self.judge(candidate)
    }
  }

  private func judged(_ candidate: CoalescingTable.Candidate, isAdmitted: Bool) {
    caller.loop.assertInEventLoop()
    coalescing.judged(key, on: candidate.id, isAdmitted: isAdmitted)
    if isAdmitted { lease(candidate) } else { tryNext() }
  }

  // MARK: The name

  private func resolve(_ family: AddressFamily, _ completion: @escaping ([NetworkAddress]) -> Void) {
    caller.loop.assertInEventLoop()
    if let known = addresses[family] { return completion(known) }
    let question = NameQuestion(host: key.host, family: family, onlyUsableFamilies: false)
    let answered = NIOLoopBound(completion, eventLoop: caller.loop)
    _ = names.ask(question) { [caller] answer in
      caller.loop.execute {
        let found = (try? answer.get()) ?? []
        self.addresses[family] = found
        answered.value(found)
      }
    }
  }

  // MARK: The server

  /// By the rules that hold for the host.
  private func judge(_ candidate: CoalescingTable.Candidate) {
    caller.loop.assertInEventLoop()
    let verdict = caller.loop.makePromise(of: Void.self)
    verdict.futureResult.assumeIsolated().whenComplete { result in
      self.judged(candidate, isAdmitted: (try? result.get()) != nil)
    }
    handshake.judge(candidate.connection.certificates, verdict)
  }

  // MARK: The connection

  private func lease(_ candidate: CoalescingTable.Candidate) {
    caller.loop.assertInEventLoop()
    guard let place = coalescing.place(candidate.id) else { return tryNext() }
    guard place.pool.executor !== caller else {
      guard let exchange = place.pool.exchange(on: place.id) else { return tryNext() }
      return finish(exchange)
    }
    place.pool.executor.loop.execute { [self] in
      let exchange = place.pool.exchange(on: place.id)
        .map { RemoteExchange($0, executor: place.pool.executor, home: caller) }
      caller.loop.execute { [self] in
        if let exchange { finish(exchange) } else { tryNext() }
      }
    }
  }
}
