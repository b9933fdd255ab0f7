/// Ends the calls of one operation early, from any thread. GLib's object for that is safe to share.
final class SecretCancellation: @unchecked Sendable {
  private let library: SecretLibrary
  /// A constant; GLib locks what is inside.
  let object: SecretLibrary.Object?

  init(_ library: SecretLibrary) {
    self.library = library
    object = library.newCancellable()
  }

  deinit { if let object { library.releaseObject(object) } }

  func cancel() { if let object { library.cancel(object) } }
}
