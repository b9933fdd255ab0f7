import CLinux
import Foundation
import Synchronization

/// One authentication of this side, the initiator, to a service (RFC 2743 §1): tokens go to the server and come back
/// until both sides are done. For one connection or one request, as the scheme demands; not to be used again
/// afterwards.
///
/// Every step runs on a thread of its own, since Kerberos asks servers meanwhile, and has a time limit. Steps are
/// called one after the other; a second one meanwhile fails.
package final class GSSContext: Sendable {
  /// The result of a step.
  package struct Step: Sendable, Equatable {
    /// For the server; empty when there is nothing to send.
    package let token: [UInt8]
    /// Whether this side is done. Otherwise the server's next token is needed.
    package let isComplete: Bool
  }

  private enum Phase { case idle, stepping, over }

  /// GSS_C_INITIATE
  static let initiates: CInt = 1
  /// GSS_C_MUTUAL_FLAG
  private static let mutual: UInt32 = 2

  private let mechanism: GSSMechanism
  private let target: String
  private let credential: GSSCredential?
  private let channelBindings: GSSChannelBindings?
  private let requestsMutualAuthentication: Bool
  private let limit: Duration
  private let phase = Mutex(Phase.idle)
  private let handles = Mutex(Handles())

  /// - Parameter service: the service's name, `HTTP` for web servers and proxies (RFC 4559 §4.1).
  /// - Parameter host: the server's name as in the URL.
  /// - Parameter credential: nil for the user's ticket cache, with which SPNEGO agrees on nothing but Kerberos.
  /// - Parameter channelBindings: nil for none, as without TLS.
  /// - Parameter requestsMutualAuthentication: whether the server is to prove its identity too, in its last token.
  /// - Parameter limit: for each step. It has to be long enough for a key distribution center that is tried in vain.
  package init(
    _ mechanism: GSSMechanism = .negotiate, service: String = "HTTP", host: String, credential: GSSCredential? = nil,
    channelBindings: GSSChannelBindings? = nil, requestsMutualAuthentication: Bool = true,
    limit: Duration = .seconds(30)
  ) {
    self.mechanism = mechanism
    target = "\(service)@\(host)"
    self.credential = credential
    self.channelBindings = channelBindings
    self.requestsMutualAuthentication = requestsMutualAuthentication
    self.limit = limit
  }

  deinit {
    handles.withLock { handles in _ = GSSCalls.run { handles.release() } }
  }

  /// Takes the server's token, and makes the one that goes to the server.
  ///
  /// - Parameter token: nil in the first step.
  /// - Throws: `GSSError`; `CancellationError` when the task is cancelled. The context is over then.
  package func step(_ token: [UInt8]? = nil) async throws -> Step {
    let mayStep = phase.withLock { phase -> Bool in
      guard phase == .idle else { return false }
      phase = .stepping
      return true
    }
    guard mayStep else { throw GSSError.notUsable }
    do {
      // A step that is given up keeps the context alive until the library returns.
      let step = try await GSSAPI.calls.run(within: limit) { try self.advance(token) }
      phase.withLock { $0 = step.isComplete ? .over : .idle }
      return step
    } catch {
      phase.withLock { $0 = .over }
      if let expired = error as? BlockingCalls.Expired { throw GSSError.expired(expired.limit) }
      throw error
    }
  }

  // MARK: On a thread of its own

  /// The library's objects. Behind a lock that is free in practice: steps do not run side by side.
  private struct Handles {
    var name: GSSLibrary.Name?
    var credential: GSSLibrary.Credential?
    var context: GSSLibrary.Context?

    mutating func release() {
      guard let library = GSSLibrary.shared else { return }
      library.release(context: context)
      library.release(credential: credential)
      library.release(name: name)
      self = Handles()
    }
  }

  private func advance(_ token: [UInt8]?) throws -> Step {
    guard let library = GSSLibrary.shared else { throw GSSError.unavailable }
    let step = try handles.withLock { handles in
      try GSSCalls.run {
        do {
          if handles.name == nil { try prepare(library, &handles) }
          return try advance(library, &handles, token)
        } catch {
          handles.release()
          throw error
        }
      }
    }
    guard let step else { throw GSSError.notUsable }
    return step
  }

  private func prepare(_ library: GSSLibrary, _ handles: inout Handles) throws {
    handles.name = try library.name(target, .hostBasedService, mechanism)
    guard let credential else {
      if mechanism == .negotiate { handles.credential = try ticket(library) }
      return
    }
    let user = try library.name(credential.user, .userName, mechanism)
    defer { library.release(name: user) }
    var acquired: GSSLibrary.Credential?
    try credential.password.withBytes { bytes in
      try GSSLibrary.withBuffer(bytes) { password in
        try library.withSet(of: mechanism) { set in
          _ = try library.check(.acquiring, mechanism) {
            library.acquireCredentialWithPassword($0, user, password, 0, set, Self.initiates, &acquired, nil, nil)
          }
        }
      }
    }
    handles.credential = acquired
  }

  /// The user's ticket cache for SPNEGO, with Kerberos alone: a server that the realm does not know must not get the user to
  /// prove a password of NTLM that the system has at hand, which it could then guess at.
  private func ticket(_ library: GSSLibrary) throws -> GSSLibrary.Credential? {
    var acquired: GSSLibrary.Credential?
    try library.withSet(of: .negotiate) { set in
      _ = try library.check(.acquiring, .negotiate) {
        library.acquireCredential($0, nil, 0, set, Self.initiates, &acquired, nil, nil)
      }
    }
    guard let acquired else { return nil }
    do {
      try library.withSet(of: .kerberos) { set in
        _ = try library.check(.acquiring, .negotiate) { library.setNegotiable($0, acquired, set) }
      }
    } catch {
      library.release(credential: acquired)
      throw error
    }
    return acquired
  }

  private func advance(_ library: GSSLibrary, _ handles: inout Handles, _ token: [UInt8]?) throws -> Step {
    guard let name = handles.name else { throw GSSError.notUsable }
    let identifier = GSSIdentifier.of(mechanism).pointer
    let flags = requestsMutualAuthentication ? Self.mutual : 0
    let credential = handles.credential
    var context = handles.context
    defer { handles.context = context }
    var output = clinux_gss_buffer()
    func call(_ bindings: GSSLibrary.Bindings?, _ input: GSSLibrary.Buffer?) throws -> UInt32 {
      try library.check(.establishing, mechanism) {
        library.initSecurityContext(
          $0, credential, &context, name, identifier, flags, 0, bindings, input, nil, &output, nil, nil)
      }
    }
    func call(_ bindings: GSSLibrary.Bindings?) throws -> UInt32 {
      guard let token else { return try call(bindings, nil) }
      return try token.withUnsafeBytes { try GSSLibrary.withBuffer($0) { try call(bindings, $0) } }
    }
    let major: UInt32
    do {
      major = try channelBindings.map { try $0.withBindings { try call($0) } } ?? call(nil)
    } catch {
      // A failing step may have made a token for the server; the request that would carry it is not made.
      _ = library.take(&output)
      throw error
    }
    // GSS_S_CONTINUE_NEEDED
    return Step(token: library.take(&output), isComplete: major & 1 == 0)
  }
}
