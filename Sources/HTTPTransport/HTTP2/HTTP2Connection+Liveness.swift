import NIOCore

/// A server that never sends its SETTINGS is given up. Later a connection on which something is waited for is asked for a
/// sign of life when it is silent.
extension HTTP2Connection {
  func watch() {
    let now = NIODeadline.now()
    // A connection that was left alone for long may be gone without a word: the question goes out with the request.
    if leases == 1, now >= liveness.nextCheck, liveness.check(at: now) == .ping { ask() }
    guard sweepID == nil, failure == nil else { return }
    sweepID = pool.executor.sweeper.add(deadline: liveness.nextCheck) { [weak self] now in self?.sweep(at: now) }
  }

  func stopWatching() {
    if let sweepID { pool.executor.sweeper.remove(sweepID) }
    sweepID = nil
  }

  private func sweep(at now: NIODeadline) -> NIODeadline? {
    guard leases > 0, failure == nil else {
      sweepID = nil
      return nil
    }
    switch liveness.check(at: now) {
    case .wait(let until): return until
    case .ping:
      ask()
      return liveness.nextCheck
    case .giveUp:
      sweepID = nil
      fail(.connectionLost(reason: "the server no longer answers"))
      close()
      return nil
    }
  }

  private func ask() {
    HTTP2FrameWriter.ping(0x7572_6c2d_6c6f_6164, isAcknowledgement: false, into: &outgoing)
    scheduleFlush()
  }

  // MARK: SETTINGS

  /// RFC 9113 §3.4: the server's SETTINGS come first. Until then requests are sent to a server that may not listen.
  func awaitSettings() {
    assertInEventLoop()
    let deadline = NIODeadline.now() + pool.configuration.settingsPatience
    settingsLimitID = pool.executor.sweeper.add(deadline: deadline) { [weak self] _ in
      self?.settingsAreLate()
      return nil
    }
  }

  func stopAwaitingSettings() {
    assertInEventLoop()
    if let settingsLimitID { pool.executor.sweeper.remove(settingsLimitID) }
    settingsLimitID = nil
  }

  private func settingsAreLate() {
    assertInEventLoop()
    guard settingsLimitID != nil, !hasSettings, failure == nil else { return }
    fail(TransportError.noSettings)
    goAway(.settingsTimeout)
  }
}
