import Foundation
import HTTPSemantics

/// The logins that one load tries at an FTP server. Confined to the load's event loop.
///
/// FTP has the client say who it is before the server asks. The first login is the URL's, else the storage's default one,
/// else the anonymous one. When the server refuses it, its question is put to the app, as long as the app has answers.
/// A proxy that is asked in HTTP is told the URL's login, and the others when it has refused that.
final class FTPAuthentication {
  /// One login, and the credential that it was made of.
  struct Attempt {
    let login: FTPLogin
    /// nil for the anonymous login, and for a user of the URL whose password is not known.
    var credential: URLCredential?
    /// Whether it is to be kept when the server accepts it: it came from the app.
    var isNew = false
  }

  private let context: LoadContext
  private let url: URL
  private let resource: FTPResource
  private let space: URLProtectionSpace
  /// The login to try, once it is known.
  private var attempt: Attempt?
  /// The credentials that were refused. The anonymous login is none.
  private var refusals = 0

  init(_ resource: FTPResource, at url: URL, host: String, port: Int, in context: LoadContext) {
    self.resource = resource
    self.url = url
    self.context = context
    space = URLProtectionSpace(
      host: host, port: port, protocol: NSURLProtectionSpaceFTP, realm: nil,
      authenticationMethod: NSURLAuthenticationMethodDefault)
  }

  /// The login to try next.
  ///
  /// - Throws: The error of an abort of the load.
  func next() async throws -> Attempt {
    context.loop.assertInEventLoop()
    if let attempt { return attempt }
    let attempt = try await first()
    self.attempt = attempt
    return attempt
  }

  private func first() async throws -> Attempt {
    let named = URLCredential(in: url)
    if resource.password != nil { return Attempt(login: resource.login, credential: named) }
    if let stored = try await context.client.load(context, defaultCredentialFor: space), stored.hasPassword,
      named?.isSameUser(as: stored) != false, let login = FTPLogin(stored)
    {
      return Attempt(login: login, credential: stored)
    }
    return Attempt(login: resource.login)
  }

  /// The server has refused the present login. Asks the app for another one, and returns when there is one.
  ///
  /// - Throws: `failure`, where the app has no other; a `URLError` when it gives up the load.
  func refused(_ failure: FTPFailure) async throws {
    context.loop.assertInEventLoop()
    guard try await ask(error: ErrorMapping.urlError(failure, url: url)) else { throw failure }
  }

  /// A proxy that is asked in HTTP could not log in. Returns whether there is another login.
  ///
  /// - Throws: A `URLError` when the app gives up the load.
  func refused(by response: URLResponse) async throws -> Bool {
    context.loop.assertInEventLoop()
    if attempt == nil {
      let first = try await first()
      attempt = first
      if resource.password == nil, first.credential != nil { return basicValue != nil }
    }
    return try await ask(failureResponse: response) && basicValue != nil
  }

  /// The value of Authorization for a proxy; nil for the anonymous login, and for one that Basic can't carry.
  var basicValue: String? {
    guard let credential = attempt?.credential, let user = credential.user else { return nil }
    return credential.withPassword { BasicCredentials.fieldValue(username: user, password: $0) }
  }

  /// Puts the question to the app. Returns whether it has an answer.
  private func ask(failureResponse: URLResponse? = nil, error: (any Error)? = nil) async throws -> Bool {
    if attempt?.credential != nil { refusals += 1 }
    guard refusals < RequestAuthentication.maximumRefusals,
      context.client.load(context, mayAnswerChallengesOf: space.authenticationMethod)
    else { return false }
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: refusals > 0 ? attempt?.credential : proposal,
      previousFailureCount: refusals,
      failureResponse: failureResponse, error: error)
    let answer = try await context.control.whileClientHoldsLoad {
      try await context.client.load(context, didReceive: challenge)
    }
    switch answer.disposition {
    case .useCredential:
      guard let credential = answer.credential, let login = FTPLogin(credential) else { return false }
      attempt = Attempt(login: login, credential: credential, isNew: true)
      return true
    // A server has one space, and all that default handling would try was tried.
    case .performDefaultHandling, .rejectProtectionSpace: return false
    case .cancelAuthenticationChallenge:
      throw ErrorMapping.urlError(
        ErrorMapping.make(.cancelled, because: "The question of \(space.host) for a credential was cancelled."),
        url: url)
    }
  }

  /// A user name that the URL has without a password.
  private var proposal: URLCredential? {
    guard resource.password == nil, refusals == 0 else { return nil }
    return URLCredential(in: url)
  }

  /// The server has accepted the present login.
  func accepted() {
    context.loop.assertInEventLoop()
    guard let attempt, attempt.isNew, let credential = attempt.credential, credential.persistence != .none else {
      return
    }
    self.attempt?.isNew = false
    context.client.load(context, keep: credential, for: space)
  }
}

extension FTPLogin {
  /// nil for a credential without a user name, and for one that no command can carry.
  fileprivate init?(_ credential: URLCredential) {
    guard let user = credential.user else { return nil }
    let login = credential.withPassword { FTPLogin(user: Array(user.utf8), password: $0) }
    guard let login else { return nil }
    self = login
  }
}
