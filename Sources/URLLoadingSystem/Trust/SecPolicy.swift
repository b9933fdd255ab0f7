import Foundation

/// The rules that a chain of certificates has to fulfil. Immutable.
public final class SecPolicy: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    /// A server's certificate, for a host or for any.
    case server(host: String?)
    case client
    case basic
  }

  let kind: Kind

  init(_ kind: Kind) { self.kind = kind }

  public static func == (left: SecPolicy, right: SecPolicy) -> Bool { left.kind == right.kind }

  public func hash(into hasher: inout Hasher) { hasher.combine(kind) }

  /// The host that must be vouched for; nil when no name is checked.
  var host: String? { if case .server(let host) = kind { host } else { nil } }
}

/// The identifier of the policy that `SecPolicyCreateBasicX509()` makes.
public let kSecPolicyAppleX509Basic = "1.2.840.113635.100.1.2"
/// The identifier of the policies that `SecPolicyCreateSSL(_:_:)` makes.
public let kSecPolicyAppleSSL = "1.2.840.113635.100.1.3"
/// The key of a policy's identifier.
public let kSecPolicyOid = "SecPolicyOid"
/// The key of a policy's host.
public let kSecPolicyName = "SecPolicyName"
/// The key of whether a policy is for the client's side.
public let kSecPolicyClient = "SecPolicyClient"

/// The policy for TLS.
///
/// - Parameters:
///   - server: Whether a server's certificate is judged, rather than a client's.
///   - hostname: The host that it must be for: a name or an address. nil checks no name.
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
  SecPolicy(server ? .server(host: hostname) : .client)
}

/// The policy that asks only for a valid chain to a trusted root.
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(.basic) }

/// Revocation is not looked up; the policy that this makes asks for nothing.
public func SecPolicyCreateRevocation(_ revocationFlags: UInt) -> SecPolicy? { SecPolicy(.basic) }

/// The identifier of a policy under `kSecPolicyOid`, and its host under `kSecPolicyName`.
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
  switch policyRef.kind {
  case .basic: return [kSecPolicyOid: kSecPolicyAppleX509Basic]
  case .client: return [kSecPolicyOid: kSecPolicyAppleSSL, kSecPolicyClient: true]
  case .server(let host):
    var properties: CFDictionary = [kSecPolicyOid: kSecPolicyAppleSSL]
    properties[kSecPolicyName] = host
    return properties
  }
}
