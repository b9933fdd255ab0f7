import Foundation

/// The task's `Progress`: the counters, and pausing and cancelling in both directions.
extension URLSessionTask {
  /// The one object, made when first asked for.
  func progressObject() -> Progress {
    if let progress = lockedState.withLock({ $0.progress }) { return progress }
    let made = makeProgress()
    let progress = lockedState.withLock { state in
      if let progress = state.progress { return progress }
      state.progress = made
      return made
    }
    flags.bitwiseOr(TaskFlags.hasProgress, ordering: .releasing)
    countersChanged()
    mirrorState()
    return progress
  }

  private func makeProgress() -> Progress {
    let progress = Progress(totalUnitCount: NSURLSessionTransferSizeUnknown)
    progress.isPausable = true
    progress.isCancellable = true
    progress.cancellationHandler = { [weak self] in self?.cancel() }
    progress.pausingHandler = { [weak self] in self?.followProgress() }
    progress.resumingHandler = { [weak self] in self?.followProgress() }
    return progress
  }

  /// The app paused or resumed the progress object. Its handlers come later, on another thread and in any order, so
  /// what counts is what the object shows now.
  private func followProgress() { perform(steer { $0.followProgress() }) }

  /// Makes the progress object show that the app suspended, resumed or cancelled the task itself.
  func mirrorState() {
    guard flags.load(ordering: .acquiring) & TaskFlags.hasProgress != 0 else { return }
    // Again, until it fits: another thread may have changed the task or the object meanwhile.
    var isMirroring = false
    while true {
      let (progress, step) = lockedState.withLock { state in
        (state.progress, state.stepOfProgress(goingOn: isMirroring))
      }
      isMirroring = true
      switch step {
      case .pause: progress?.pause()
      case .resume: progress?.resume()
      case .cancel: progress?.cancel()
      case .follow: return followProgress()
      case nil: return
      }
    }
  }

  /// Tells the progress object and the observers of the counters' new values.
  func countersChanged() {
    let flags = flags.load(ordering: .acquiring)
    guard flags & TaskFlags.isWatched != 0 else { return }
    if flags & TaskFlags.hasProgress != 0 { updateProgress() }
    if flags & TaskFlags.isObserved != 0 {
      didChange(\.countOfBytesSent)
      didChange(\.countOfBytesReceived)
      didChange(\.countOfBytesExpectedToSend)
      didChange(\.countOfBytesExpectedToReceive)
    }
    if flags & TaskFlags.hasConsumers != 0, byteCounts.isProgress { tellConsumers { .progress(byteCounts) } }
  }

  /// The server names the length of its response, which may be any number.
  private static func expectedTotal(toSend: Int64, toReceive: Int64) -> Int64 {
    let (total, isTooLarge) = toSend.addingReportingOverflow(toReceive)
    return toSend >= 0 && toReceive >= 0 && !isTooLarge ? total : NSURLSessionTransferSizeUnknown
  }

  private func updateProgress() {
    let toSend = bytesExpectedToSend.load(ordering: .relaxed)
    let toReceive = bytesExpectedToReceive.load(ordering: .relaxed)
    let done = bytesSent.load(ordering: .relaxed) + bytesReceived.load(ordering: .relaxed)
    lockedState.withLock { state in
      guard let progress = state.progress else { return }
      if case .completed = state.phase, state.error == nil {
        // An empty transfer is complete too: 1 of 1.
        progress.totalUnitCount = max(done, 1)
        progress.completedUnitCount = max(done, 1)
      } else {
        let total = URLSessionTask.expectedTotal(toSend: toSend, toReceive: toReceive)
        if progress.totalUnitCount != total { progress.totalUnitCount = total }
        progress.completedUnitCount = done
      }
    }
  }
}

extension TaskState {
  enum ProgressStep { case pause, resume, cancel, follow }

  /// The change of the progress object by which it shows what the task is doing.
  /// - Parameter goingOn: Set by the thread that did the last step; the others leave the object alone until it is done.
  mutating func stepOfProgress(goingOn: Bool) -> ProgressStep? {
    guard let progress, goingOn || !isMirroring else { return nil }
    isMirroring = false
    switch phase {
    case .canceling: return progress.isCancelled ? nil : .cancel
    case .created, .completed: return nil
    case .started: break
    }
    let isPaused = progress.isPaused
    // The app changed the object. Its handler comes, or came while it was left alone.
    guard isPaused == isPausedByProgress else { return goingOn ? .follow : nil }
    guard isSuspended != isPaused else { return nil }
    isMirroring = true
    // The suspension is now the object's, too: resuming the object takes it back.
    isPausedByProgress = isSuspended
    return isSuspended ? .pause : .resume
  }

  /// Reads the object once: the app changes it on other threads, and the task must do what is written down here.
  mutating func followProgress() -> Action {
    guard let isPaused = progress?.isPaused, !isMirroring, isPaused != isPausedByProgress else { return .nothing }
    isPausedByProgress = isPaused
    return isPaused ? suspend() : resume()
  }
}
