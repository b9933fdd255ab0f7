/// Changes of a transfer's request. Fields that are nil are left as they are.
package struct EditTransfer: Codable, Sendable, Equatable {
  package var transfer: Int64
  package var url: String?
  /// They replace those of the same name.
  package var fields: [HeaderField]?
  /// Names of fields that are removed, in any spelling.
  package var removedFields: [String]?
  /// 0…1, as `URLSessionTask.priority`.
  package var priority: Float?
  package var allowsCellularAccess: Bool?
  package var allowsExpensiveNetworkAccess: Bool?
  package var allowsConstrainedNetworkAccess: Bool?

  package init(transfer: Int64) { self.transfer = transfer }

  /// Whether the next request differs, and not the transfer's rank alone.
  package var changesRequest: Bool {
    url != nil || fields != nil || removedFields != nil || allowsCellularAccess != nil
      || allowsExpensiveNetworkAccess != nil || allowsConstrainedNetworkAccess != nil
  }

  package var changesFields: Bool { fields != nil || removedFields != nil }

  /// The description with the changes.
  package func applied(to description: TransferDescription) -> TransferDescription {
    var edited = description
    if let url { edited.request.url = url }
    let replaced = Set((fields ?? []).map(\.name) + (removedFields ?? [])).map { $0.lowercased() }
    edited.request.headers.removeAll { replaced.contains($0.name.lowercased()) }
    edited.request.headers += fields ?? []
    if let priority { edited.priority = priority }
    if let allowsCellularAccess { edited.request.allowsCellularAccess = allowsCellularAccess }
    if let allowsExpensiveNetworkAccess { edited.request.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess }
    if let allowsConstrainedNetworkAccess {
      edited.request.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess
    }
    return edited
  }
}
