import Foundation
import HTTPTransport
import TransferProtocol
import URLLoadingSystem

/// The client of a transfer's loads: its questions go to the app, as far as one can be asked. Follows redirects and passes
/// interim responses over. Confined to the load's loop.
final class ServiceLoadClient: LoadClient, @unchecked Sendable {
  /// The app has to answer first. Ends a try, and is no failure of it.
  struct NeedsApp: Error {
    let host: String
  }

  // Sendable by hand: nothing but the address and whose it is, which are changed on the loop, changes once the load has
  // started.
  private let job: DownloadJob
  private let credentials: URLCredentialStorage
  private let report: @Sendable (DownloadReport) -> Void
  /// Told of the bytes that are sent, and of interim responses; set before the load starts.
  weak var sending: UploadSending?
  /// Told of each request; set before the load starts.
  weak var pacing: RunPacing?
  /// That was reported last.
  private var address: String?
  /// A redirect leads to another host than that of the transfer's URL.
  private var isElsewhere = false

  init(_ job: DownloadJob, credentials: URLCredentialStorage, report: @escaping @Sendable (DownloadReport) -> Void) {
    self.job = job
    self.credentials = credentials
    self.report = report
  }

  /// They become the metrics of the app's task, and tell whether the request of an upload has begun, which decides whether
  /// it may be repeated.
  var wantsRecords: Bool { true }

  func load(_ context: LoadContext, isUsing request: URLRequest) {
    context.loop.assertInEventLoop()
    isElsewhere = TaskAdmission.hostName(request.url?.absoluteString ?? "") != TaskAdmission.hostName(job.request.url)
  }

  /// The address of a proxy says nothing of the host.
  func load(_ context: LoadContext, sendsOver exchange: any HTTPExchange) {
    context.loop.assertInEventLoop()
    pacing?.requestBegins()
    let connection = exchange.record.connection
    guard connection.proxyName == nil, let address = connection.remoteAddress?.ipAddress, address != self.address else {
      return
    }
    self.address = address
    report(.connected(address: address, isOfHost: !isElsewhere))
  }

  func load(_ context: LoadContext, didReceiveInformational response: HTTPURLResponse) {
    context.loop.assertInEventLoop()
    sending?.receivedInformational(response)
  }

  func load(_ context: LoadContext, didSendBodyBytes count: Int64, total: Int64, expected: Int64) {
    context.loop.assertInEventLoop()
    sending?.sent(total, of: expected)
  }

  func load(_ context: LoadContext, mayAnswerChallengesOf method: String) -> Bool {
    context.loop.assertInEventLoop()
    return job.connectionQuestions.areAsked(by: job.id) || !ChallengeQuestion.isAboutConnection(method)
  }

  func load(_ context: LoadContext, defaultCredentialFor space: URLProtectionSpace) async throws -> URLCredential? {
    context.loop.assertInEventLoop()
    return try await credentials.defaultCredential(for: space, task: nil, in: context)
  }

  func load(_ context: LoadContext, keep credential: URLCredential, for space: URLProtectionSpace) {
    context.loop.assertInEventLoop()
    credentials.setDefaultCredential(credential, for: space)
  }

  func load(_ context: LoadContext, didReceive challenge: URLAuthenticationChallenge) async throws -> ChallengeAnswer {
    context.loop.assertInEventLoop()
    let question = ChallengeQuestion(challenge)
    let reference = Reference()
    let answer = try await context.control.whileClientHoldsLoad {
      try await context.control.abortable(onAbort: { _ in reference.challenge?.answer(.noApp) }) {
        await withCheckedContinuation { continuation in
          let pending = PendingChallenge(question) { continuation.resume(returning: $0) }
          reference.challenge = pending
          report(.asked(pending))
        }
      }
    }
    switch answer {
    case .given(let disposition): return ChallengeAnswer(disposition, to: challenge)
    case .byRules: return ChallengeAnswer()
    case .noApp:
      // A credential that was refused is proposed, too.
      if challenge.proposedCredential?.hasPassword == true, challenge.previousFailureCount == 0 {
        return ChallengeAnswer()
      }
      // The user's Kerberos ticket may do; without one the next scheme asks again.
      let method = challenge.protectionSpace.authenticationMethod
      if method == NSURLAuthenticationMethodNegotiate, challenge.previousFailureCount == 0 { return ChallengeAnswer() }
      throw NeedsApp(host: challenge.protectionSpace.host)
    }
  }

  /// Holds no question that the engine has dropped.
  private final class Reference {
    weak var challenge: PendingChallenge?
  }
}

extension ServiceLoadClient.NeedsApp {
  var sentence: String {
    "It waits for the app: \(host) asks for a credential, or for a decision about its connection."
  }

  /// Finds the reason beneath the error that a load makes of it.
  static func cause(of error: any Error) -> ServiceLoadClient.NeedsApp? {
    if let error = error as? ServiceLoadClient.NeedsApp { return error }
    return (error as? URLError)?.userInfo[NSUnderlyingErrorKey] as? ServiceLoadClient.NeedsApp
  }
}

extension ChallengeAnswer {
  fileprivate init(_ disposition: ChallengeAnswered.Disposition, to challenge: URLAuthenticationChallenge) {
    switch disposition {
    case .performDefaultHandling, .isLeftOut: self.init()
    case .cancelAuthenticationChallenge: self.init(.cancelAuthenticationChallenge)
    case .rejectProtectionSpace: self.init(.rejectProtectionSpace)
    case .useCredential(nil): self.init(.useCredential)
    case .useCredential(.trust?):
      self.init(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
    case .useCredential(.certificate(let chain, let privateKey)?):
      let answered = ChallengeAnswered.Credential.certificate(chain: chain, privateKey: privateKey)
      self.init(.useCredential, answered.clientCertificate)
    case .useCredential(.password(let user, let password?, let persistence)?):
      let persistence = URLCredential.Persistence(rawValue: persistence) ?? .none
      self.init(.useCredential, URLCredential(user: user, password: password, persistence: persistence))
    case .useCredential(.password(let user, nil, _)?):
      let proposed = challenge.proposedCredential
      self.init(.useCredential, proposed?.user == user ? proposed : nil)
    }
  }
}
