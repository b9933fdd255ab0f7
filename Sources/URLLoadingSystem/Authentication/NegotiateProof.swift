import Foundation
import HTTPSemantics
import HTTPTransport
import Synchronization
import SystemServices

/// Kerberos, or NTLM inside of SPNEGO, by the system's GSS-API (RFC 4559). Some servers authenticate a connection by it,
/// others each request: the first request of a credential that is repeated unasked tells.
final class NegotiateProof: AuthenticationProof {
  /// Takes the server's token, nil at first, and returns the one for the server, empty where there is nothing to say.
  typealias Conversation = @Sendable (_ token: [UInt8]?) async throws -> [UInt8]
  /// Begins a conversation over a channel: the hash of the server's certificate, nil without TLS.
  typealias BeginConversation = @Sendable (_ channel: [UInt8]?) -> Conversation

  /// The part that the requests of one credential share.
  private final class Peer: Sendable {
    let begin: BeginConversation
    /// Whether the server asks again on connections that were let in: then every request carries a token.
    let wantsEachRequest = Atomic(false)
    /// The hash of the server's certificate when it last asked; nil without TLS.
    let channel = Mutex<[UInt8]?>(nil)

    init(_ begin: @escaping BeginConversation) { self.begin = begin }
  }

  private struct State {
    var conversation: Conversation?
    var token: [UInt8]?
    /// The channel that the last token was made for.
    var channel: [UInt8]?
    /// Whether the connection is hoped to be authenticated.
    var isSilent = false
    /// Whether no token could be made: without one the server is not answered.
    var hasFailed = false
  }

  let identity: ConnectionIdentity
  private let peer: Peer
  private let state: Mutex<State>

  /// - Parameter credential: One without a user name stands for the ticket cache.
  /// - Returns: nil where GSS-API is not installed.
  convenience init?(_ credential: URLCredential, host: String) {
    guard GSSAPI.isAvailable else { return nil }
    var own: GSSCredential?
    if let user = credential.user, !user.isEmpty {
      own = GSSCredential(user: user, password: credential.withPassword { SecretBytes(copying: $0) })
    }
    self.init { [own] channel in
      // TLS says who the server is.
      let context = GSSContext(
        host: host, credential: own, channelBindings: channel.map { .tlsServerEndPoint(hash: $0) },
        requestsMutualAuthentication: false)
      return { try await context.step($0).token }
    }
  }

  init(_ begin: @escaping BeginConversation) {
    identity = .authenticatedUser(UUID().uuidString)
    peer = Peer(begin)
    state = Mutex(State())
  }

  private init(next previous: NegotiateProof) {
    (identity, peer) = (previous.identity, previous.peer)
    state = Mutex(State(isSilent: true))
  }

  func forNextRequest() -> any AuthenticationProof { NegotiateProof(next: self) }

  func covers(_ target: String) -> Bool { true }

  func bind(to certificate: ServerCertificate?) {
    let channel = certificate?.endPointHash
    peer.channel.withLock { $0 = channel }
  }

  func begin(with offer: AuthenticationOffer) async -> Bool { await advance(nil) }

  var isPrepared: Bool {
    !peer.wantsEachRequest.load(ordering: .relaxed) || !state.withLock { $0.isSilent && !$0.hasFailed }
  }

  /// The request goes out without a token where none can be made: the server may not ask for it, and where it does, the
  /// credential counts as refused, and the next scheme, or the app, has its turn.
  func prepare() async {
    let isReady = await advance(nil)
    state.withLock { $0.hasFailed = !isReady }
  }

  func fieldValue(for request: @autoclosure () -> ProvenRequest) -> String? {
    state.withLock { state in
      // A request that goes out without a token is silent: it may be asked.
      if state.token == nil { state.isSilent = true }
      defer { state.token = nil }
      return state.token.map { "Negotiate " + Data($0).base64EncodedString() }
    }
  }

  func goesOn(after offers: [AuthenticationOffer]) async -> Bool {
    for case .negotiate(let token) in offers {
      let channel = peer.channel.withLock { $0 }
      let (hasFailed, wasSilent, isOtherChannel) = state.withLock {
        ($0.hasFailed, $0.isSilent, $0.channel != channel)
      }
      guard !hasFailed else { return false }
      if wasSilent { peer.wantsEachRequest.store(true, ordering: .relaxed) }
      // A token that was made for another certificate of the server is no use here: it is made again.
      let begins = wasSilent || token == nil && isOtherChannel
      guard begins || token != nil else { return false }
      return await advance(begins ? nil : token)
    }
    return false
  }

  /// - Returns: Whether there is something to send.
  private func advance(_ token: [UInt8]?) async -> Bool {
    let channel = peer.channel.withLock { $0 }
    let conversation = state.withLock { state in
      state.isSilent = false
      guard token != nil, let present = state.conversation else {
        let begun = peer.begin(channel)
        (state.conversation, state.channel) = (begun, channel)
        return begun
      }
      return present
    }
    guard let answer = try? await conversation(token), !answer.isEmpty else { return false }
    state.withLock { $0.token = answer }
    return true
  }
}
