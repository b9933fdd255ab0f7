import Foundation
import TransferProtocol

/// Words for the log. A line about a transfer names it `transfer 9`, by which `urlsession log 9` finds it.
extension Sequence where Element == TransferID {
  var logText: String { map { "transfer \($0)" }.joined(separator: ", ") }
}

extension LimitSubject {
  var logText: String {
    switch self {
    case .transfer(let id), .task(let id): "transfer \(id)"
    case .session(let id), .configuration(let id): "session \(id)"
    case .app(let id): "app \(id)"
    case .service: "all transfers"
    }
  }
}

extension LimitTable {
  var logText: String {
    limits.isEmpty
      ? "none"
      : limits.map { limit in
        let rate = limit.bytesPerSecond.map { "\($0) bytes/s" } ?? "none"
        return limit.hours.map { "\(rate) between \($0)" } ?? rate
      }.joined(separator: ", ")
  }
}

extension EditTransfer {
  /// The names of what it changes, and no values: those may be secrets.
  var changedParts: [String] {
    let names = ((fields ?? []).map(\.name) + (removedFields ?? [])).map { "the field \($0.logText)" }
    let others: [(Bool, String)] = [
      (priority != nil, "the priority"), (allowsCellularAccess != nil, "the use of cellular networks"),
      (allowsExpensiveNetworkAccess != nil, "the use of expensive networks"),
      (allowsConstrainedNetworkAccess != nil, "the use of constrained networks"),
    ]
    return (url == nil ? [] : ["the URL"]) + names.prefix(20) + others.filter(\.0).map(\.1)
  }
}
