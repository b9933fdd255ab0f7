@testable import TransferService

extension QueueKey {
  /// Returns when it was known at some time whether there is a key.
  func settle() async {
    guard !hasSettled else { return }
    await withCheckedContinuation { done in open { done.resume() } }
  }
}
