/// Ends the calls of one operation early, from any thread. GLib's object for that is safe to share.
final class SecretCancellation: @unchecked Sendable {
  // Sendable by hand: a constant address, of an object that GLib locks itself.
  private let library: SecretLibrary
  let object: SecretLibrary.Object?

  init(_ library: SecretLibrary) {
    self.library = library
    object = library.newCancellable()
  }

  deinit { if let object { library.releaseObject(object) } }

  func cancel() { if let object { library.cancel(object) } }
}
