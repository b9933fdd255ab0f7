import Foundation
import HTTPSemantics
import TransferProtocol

/// Which hosts may be loaded from without encryption, and how good the encryption must be: App Transport Security.
///
/// A session has the policy of its configuration's `appTransportSecurity`. By default that is the main bundle's
/// `NSAppTransportSecurity` dictionary; a program without one has no such policy, and may load what it likes. A load
/// that the policy forbids fails with `URLError.appTransportSecurityRequiresSecureConnection` (-1022) before anything
/// is sent; http is never turned into https by itself. A redirect from https to http is such a load too.
///
/// Under the policy, TLS 1.2 and a suite with forward secrecy are the least that is spoken, unless an exception
/// says otherwise. Names without a dot, names of `.local`, and addresses count as local.
public struct AppTransportSecurity: Sendable, Hashable {
  /// The exceptions of one host.
  public struct ExceptionDomain: Sendable, Hashable {
    /// Whether the exception is for the hosts below this one too. Default false.
    public var includesSubdomains = false
    /// Whether http is allowed. Default false.
    public var allowsInsecureHTTPLoads = false
    /// The lowest version spoken, unless the session's own limit is higher. Default TLS 1.2.
    public var minimumTLSVersion = tls_protocol_version_t.TLSv12
    /// Whether only suites with forward secrecy are spoken. Default true.
    public var requiresForwardSecrecy = true

    /// No exception: the host is treated as strictly as all others.
    public init() {}
  }

  /// Whether everything is allowed for which there is no exception. Default false.
  public var allowsArbitraryLoads = false
  /// Whether everything is allowed for local hosts. Default false.
  public var allowsLocalNetworking = false
  /// The exceptions by host. The most specific one counts.
  public var exceptionDomains: [String: ExceptionDomain] = [:]

  /// The strictest policy.
  public init() {}

  /// The policy of an `NSAppTransportSecurity` dictionary. What it does not know in there has no effect.
  ///
  /// `NSAllowsArbitraryLoads` counts only where `NSAllowsLocalNetworking`, `NSAllowsArbitraryLoadsForMedia` and
  /// `NSAllowsArbitraryLoadsInWebContent` are absent, as on Apple's systems: who names one of these means just that.
  public init(dictionary: [String: Any]) {
    let narrower = [
      "NSAllowsLocalNetworking", "NSAllowsArbitraryLoadsForMedia", "NSAllowsArbitraryLoadsInWebContent",
    ]
    allowsArbitraryLoads =
      AppTransportSecurity.flag(dictionary["NSAllowsArbitraryLoads"]) == true
      && !narrower.contains { dictionary[$0] != nil }
    allowsLocalNetworking = AppTransportSecurity.flag(dictionary["NSAllowsLocalNetworking"]) ?? false
    for (host, value) in dictionary["NSExceptionDomains"] as? [String: Any] ?? [:] {
      exceptionDomains[host] = ExceptionDomain(dictionary: value as? [String: Any] ?? [:])
    }
  }

  /// The main bundle's policy; nil when it has none.
  public static let ofMainBundle: AppTransportSecurity? =
    (Bundle.main.object(forInfoDictionaryKey: "NSAppTransportSecurity") as? [String: Any])
    .map { AppTransportSecurity(dictionary: $0) }

  fileprivate static func flag(_ value: Any?) -> Bool? { value as? Bool ?? (value as? NSNumber)?.boolValue }

  package var rules: TransportSecurityRules {
    TransportSecurityRules(
      allowsArbitraryLoads: allowsArbitraryLoads, allowsLocalNetworking: allowsLocalNetworking,
      exceptions: exceptionDomains.mapValues { exception in
        .init(
          includesSubdomains: exception.includesSubdomains,
          rule: .init(
            allowsInsecureHTTP: exception.allowsInsecureHTTPLoads,
            minimumTLSVersion: exception.minimumTLSVersion.rawValue,
            requiresForwardSecrecy: exception.requiresForwardSecrecy))
      })
  }

  /// The dictionary that `init(dictionary:)` reads.
  package var dictionary: [String: Any] {
    var dictionary: [String: Any] = [
      "NSExceptionDomains": exceptionDomains.mapValues(\.dictionary)
    ]
    // Both can be said in code and not in a dictionary: local hosts are a part of all.
    if allowsArbitraryLoads {
      dictionary["NSAllowsArbitraryLoads"] = true
    } else if allowsLocalNetworking {
      dictionary["NSAllowsLocalNetworking"] = true
    }
    return dictionary
  }
}

extension AppTransportSecurity.ExceptionDomain {
  /// An entry of `NSExceptionDomains`. The older keys with `Temporary` or `ThirdParty` in them mean the same.
  init(dictionary: [String: Any]) {
    func value(_ name: String) -> Any? {
      dictionary["NS" + name] ?? dictionary["NSTemporary" + name] ?? dictionary["NSThirdParty" + name]
    }
    includesSubdomains = AppTransportSecurity.flag(dictionary["NSIncludesSubdomains"]) ?? false
    allowsInsecureHTTPLoads = AppTransportSecurity.flag(value("ExceptionAllowsInsecureHTTPLoads")) ?? false
    requiresForwardSecrecy = AppTransportSecurity.flag(value("ExceptionRequiresForwardSecrecy")) ?? true
    switch value("ExceptionMinimumTLSVersion") as? String {
    case "TLSv1.0": minimumTLSVersion = .TLSv10
    case "TLSv1.1": minimumTLSVersion = .TLSv11
    case "TLSv1.3": minimumTLSVersion = .TLSv13
    default: break
    }
  }

  fileprivate var dictionary: [String: Any] {
    let versions: [tls_protocol_version_t: String] = [
      .TLSv10: "TLSv1.0", .TLSv11: "TLSv1.1", .TLSv12: "TLSv1.2", .TLSv13: "TLSv1.3",
    ]
    return [
      "NSIncludesSubdomains": includesSubdomains, "NSExceptionAllowsInsecureHTTPLoads": allowsInsecureHTTPLoads,
      "NSExceptionRequiresForwardSecrecy": requiresForwardSecrecy,
      "NSExceptionMinimumTLSVersion": versions[minimumTLSVersion] ?? "TLSv1.2",
    ]
  }
}

extension AppTransportSecurity {
  /// The policy as JSON, for the transfer service.
  package var json: String? {
    (try? JSONSerialization.data(withJSONObject: dictionary, options: .sortedKeys))
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// The policy that `json` wrote. What can't be read is the strictest one.
  package init(json: String) {
    let read = try? JSONReader.plainValue(of: Data(json.utf8))
    self.init(dictionary: read as? [String: Any] ?? [:])
  }
}
