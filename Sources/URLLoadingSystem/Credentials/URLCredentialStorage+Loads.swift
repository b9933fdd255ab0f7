import Foundation

/// The questions of loads. Overrides of a subclass run on a thread where they may block, never on the load's event loop.
extension URLCredentialStorage {
  private var isPlain: Bool { type(of: self) == URLCredentialStorage.self }

  /// The credential that is used without asking; nil when none was chosen.
  ///
  /// - Parameter task: nil for a load without one.
  /// - Throws: The error of an abort of the load, which ends the wait for the keychain, too.
  package func defaultCredential(
    for space: URLProtectionSpace, task: URLSessionTask?, in context: LoadContext
  ) async throws -> URLCredential? {
    if isPlain, !isUnread(space) { return defaultCredential(for: space) }
    return try await StoreQuestion.ask(nil, in: context) { answer in
      guard !isPlain else { return whenRead(space) { answer(self.defaultCredential(for: space)) } }
      // The credentials that were kept before are among those that it chooses from.
      keeping.notify(queue: .global()) {
        StoreQuestion.run {
          guard let task else { return answer(self.defaultCredential(for: space)) }
          self.getDefaultCredential(for: space, task: task, completionHandler: answer)
        }
      }
    }
  }

  /// A server has let a load in with a credential.
  func keep(_ credential: URLCredential, for space: URLProtectionSpace, task: URLSessionTask?) {
    guard !isPlain else { return setDefaultCredential(credential, for: space) }
    keeping.enter()
    StoreQuestion.run {
      if let task {
        self.setDefaultCredential(credential, for: space, task: task)
      } else {
        self.setDefaultCredential(credential, for: space)
      }
      self.keeping.leave()
    }
  }
}
