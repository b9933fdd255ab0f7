import Dispatch
import TransferProtocol

/// Transfers whose write was refused for lack of room, and that do not know how much they need.
extension TransferEngine {
  /// Whether there is room for one. Where that is not known, a probe is written off the engine's queue, since a disk may take
  /// its time, and those that wait for it go on when it succeeds.
  func hasProvenRoom() -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    if room.holds(at: clock.now) { return true }
    guard room.begin() else { return false }
    let files = self.files
    probes.async {
      let hasRoom = Result { try files.probeRoom() }
      self.enter { $0.roomProbed(hasRoom) }
    }
    return false
  }

  private func roomProbed(_ result: Result<Bool, any Error>) {
    // Another fault than a lack of room is found, and told, by the run that meets it.
    let hasRoom = (try? result.get()) ?? true
    room.ended(hasRoom: hasRoom, at: clock.now)
    guard hasRoom, isServing else { return }
    for id in transfers.ids where transfers[id]?.machine.neededSpace == 0 { apply(.roomFound, to: id) }
  }
}
