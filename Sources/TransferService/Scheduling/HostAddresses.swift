/// The address at which each of the latest hosts was reached last, so that two names of one machine share its limit. Learnt from
/// connections alone: no name is looked up for it. A value.
struct HostAddresses: Sendable {
  /// Of how many hosts they are kept.
  static let limit = 256

  private var addresses: [String: String] = [:]
  /// By the first time that each was reached, for forgetting the oldest.
  private var order: [String] = []

  subscript(host: String) -> String? { addresses[host] }

  mutating func reached(_ host: String, at address: String) {
    guard addresses.updateValue(address, forKey: host) == nil else { return }
    order.append(host)
    if order.count > HostAddresses.limit { addresses[order.removeFirst()] = nil }
  }
}
