import Foundation
import SystemServices

/// A proof of identity for a server, or a decision to trust a server. Immutable.
open class URLCredential: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  /// How long a credential is kept.
  public enum Persistence: UInt, Sendable {
    /// Not at all: for one request.
    case none = 0
    /// For as long as the app runs.
    case forSession = 1
    /// In the system's keyring.
    case permanent = 2
    /// In the keyring, and on the user's other devices where there is such a thing.
    case synchronizable = 3
  }

  package enum Kind: Hashable, Sendable {
    case password(user: String, password: SecretBytes?)
    case certificate(identity: SecIdentity, chain: [SecCertificate])
    case trust(SecTrust)
  }

  // Sendable by hand, because subclasses are allowed, and nothing to assert: constants, all of Sendable types.
  package let kind: Kind
  private let storedPersistence: Persistence

  /// A user name with a password.
  public init(user: String, password: String, persistence: Persistence) {
    kind = .password(user: user, password: .copy(of: password))
    storedPersistence = persistence
  }

  /// A user name whose password is not known, as a URL may hold it.
  init(user: String, password: String?, persistence: Persistence) {
    kind = .password(user: user, password: password.map { .copy(of: $0) })
    storedPersistence = persistence
  }

  /// A user name with a password that is kept out of ordinary memory.
  package init(user: String, secret: SecretBytes, persistence: Persistence) {
    kind = .password(user: user, password: secret)
    storedPersistence = persistence
  }

  /// A client certificate, which is never stored.
  ///
  /// - Parameters:
  ///   - identity: The certificate that is shown to the server, with its private key.
  ///   - certArray: The certificates between the identity's own and one that the server knows, `SecCertificate` each.
  ///     nil when none are needed.
  ///   - persistence: How long the credential is kept; it never reaches the disk.
  public init(identity: SecIdentity, certificates certArray: [Any]?, persistence: Persistence) {
    kind = .certificate(identity: identity, chain: (certArray ?? []).compactMap { $0 as? SecCertificate })
    storedPersistence = persistence
  }

  /// The decision to trust a server, whose certificates the caller has judged.
  public init(trust: SecTrust) {
    kind = .trust(trust)
    storedPersistence = .none
  }

  /// How long the credential is kept.
  open var persistence: Persistence { storedPersistence }

  /// Whether it is to outlive the process. There are no other devices of the user's, so the two are the same here.
  var isPermanent: Bool { [.permanent, .synchronizable].contains(persistence) }

  /// The user name; nil for certificates and trust.
  open var user: String? {
    if case .password(let user, _) = kind { user } else { nil }
  }

  /// The password; nil for certificates and trust. It is kept in memory that is left out of core dumps and zeroed when the
  /// credential goes; the text that this returns is the caller's.
  open var password: String? {
    if case .password(_, let password) = kind { password.map { $0.text() ?? "" } } else { nil }
  }

  /// Calls `body` with the password's UTF-8, without a copy; with nothing where there is no password.
  package func withPassword<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    // A subclass may have its own idea of the password.
    if type(of: self) == URLCredential.self, case .password(_, let secret?) = kind { return try secret.withBytes(body) }
    var text = password ?? ""
    return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }

  /// Whether there is a password, without fetching it.
  open var hasPassword: Bool {
    if case .password(_, let password) = kind { password != nil } else { false }
  }

  /// The client's certificate and key; nil for passwords and trust.
  open var identity: SecIdentity? {
    if case .certificate(let identity, _) = kind { identity } else { nil }
  }

  /// The intermediate certificates; empty unless this is a client certificate.
  open var certificates: [Any] {
    if case .certificate(_, let chain) = kind { chain } else { [] }
  }

  // MARK: Copying and comparing

  /// The credential itself, since it never changes.
  open override func copy() -> Any { self }

  /// The credential itself, as `copy()`; `zone` has no meaning.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? URLCredential else { return false }
    return self === other || (kind == other.kind && persistence == other.persistence)
  }

  open override var hash: Int { kind.hashValue }

  /// The credential without its secrets.
  open override var description: String {
    switch kind {
    case .password(let user, _): "<\(type(of: self)): user \(user), password hidden>"
    case .certificate: "<\(type(of: self)): client certificate>"
    case .trust(let trust): "<\(type(of: self)): trust in \(trust.host ?? "a server")>"
    }
  }

  // MARK: Archiving

  /// Always true: an archive names the classes it may be read as.
  open class var supportsSecureCoding: Bool { true }

  /// Reads a user name with its password; nil for anything else.
  public required init?(coder: NSCoder) {
    guard coder.allowsKeyedCoding, let user = coder.decodeObject(of: NSString.self, forKey: "user") as String? else {
      return nil
    }
    let password = coder.decodeObject(of: NSString.self, forKey: "password") as String?
    kind = .password(user: user, password: password.map { .copy(of: $0) })
    storedPersistence = Persistence(rawValue: coder.decodeUInt(forKey: "persistence")) ?? .none
  }

  /// Archives a user name with its password. Keys and trust are not archived: reading such an archive gives nil.
  open func encode(with coder: NSCoder) {
    coder.encode(Int(storedPersistence.rawValue), forKey: "persistence")
    guard case .password(let user, let password) = kind else { return }
    coder.encode(user as NSString, forKey: "user")
    coder.encode(password?.text() as NSString?, forKey: "password")
  }
}
