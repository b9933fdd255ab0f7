package struct Watch: Codable, Sendable, Equatable {
  /// The numbers to watch; nil means every transfer of this app, also those to come.
  package var transfers: [Int64]?

  package init(transfers: [Int64]? = nil) { self.transfers = transfers }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard try container.contains(.transfers) && !container.decodeNil(forKey: .transfers) else { return }
    transfers = try container.decodeList(of: Int64.self, forKey: .transfers)
  }
}
