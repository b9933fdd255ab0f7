package struct Watch: Codable, Sendable, Equatable {
  /// The numbers to watch; nil means every transfer of this app, also those to come.
  package var transfers: [Int64]?
  /// Whether every transfer of every app of the user is meant, which only the user's own tool may ask for. nil: of the app.
  package var ofEveryApp: Bool?

  package init(transfers: [Int64]? = nil, ofEveryApp: Bool? = nil) {
    self.transfers = transfers
    self.ofEveryApp = ofEveryApp
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    ofEveryApp = try container.decodeIfPresent(Bool.self, forKey: .ofEveryApp)
    guard try container.contains(.transfers) && !container.decodeNil(forKey: .transfers) else { return }
    transfers = try container.decodeList(of: Int64.self, forKey: .transfers)
  }
}
