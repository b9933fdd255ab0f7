import HTTPSemantics
import SystemServices

/// Asks for the HTTPS records of names (RFC 9460).
package struct ServiceRecords: Sendable {
  /// All records of a name; may block.
  package typealias Ask = @Sendable (_ name: String) -> [ServiceRecord]

  /// systemd-resolved, where it is what addresses come from, too; nil on a machine without a message bus.
  package static let system: ServiceRecords? =
    !ResolvedRecords.isAvailable
    ? nil
    : ServiceRecords(on: BlockingWork.records) { name in
      guard ResolvedRecords.isResolverOfThisProcess else { return [] }
      // RFC 9460 §2.2: one malformed record makes all of no use.
      let records = ResolvedRecords().records(of: name, type: ServiceRecord.type).map { ServiceRecord($0) }
      return records.contains(nil) ? [] : records.compactMap { $0 }
    }

  private let threads: BlockingLanes
  private let ask: Ask

  package init(on threads: BlockingLanes, ask: @escaping Ask) {
    self.threads = threads
    self.ask = ask
  }

  /// Calls `completion` once, on a thread of its own choice; with nil where no HTTP/3 is offered.
  func offer(host: String, port: Int, _ completion: @escaping @Sendable (HTTP3Offer?) -> Void) {
    threads.run { [ask] in
      completion(HTTP3Offer(ask(ServiceRecord.name(host: host, port: port)), host: host, port: port))
    }
  }

  /// Whether a host can have records: not an address, and not a name of this machine or its network alone.
  static func mayExist(for host: String) -> Bool {
    let labels = host.lowercased().split(separator: ".")
    guard IPAddressText(host) == nil, labels.count > 1, !host.utf8.contains(UInt8(ascii: ":")), let last = labels.last
    else { return false }
    return !localDomains.contains(String(last)) && labels.suffix(2) != ["home", "arpa"]
  }

  /// RFC 6761, RFC 6762, RFC 7686, and `internal`, which ICANN has set aside.
  private static let localDomains: Set<String> = ["localhost", "local", "internal", "onion", "test", "invalid"]
}
