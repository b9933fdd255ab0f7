import Synchronization

/// The names under which apps were given the files of transfers, so that the folder is not searched for them each time.
/// They are read from it once: an earlier life of the service may have made some. May be used from any thread.
final class DeliveryNames: Sendable {
  private let names = Mutex<[TransferID: [String]]?>(nil)

  /// - Parameter list: lists the folder, when it was not listed yet.
  func update<Value: Sendable>(
    _ transfer: TransferID, listing list: () throws -> [String], _ change: (inout [String]) throws -> Value
  ) throws -> Value {
    try names.withLock { stored in
      if stored == nil { stored = DeliveryNames.grouped(try list()) }
      var own = stored?.removeValue(forKey: transfer) ?? []
      defer { if !own.isEmpty { stored?[transfer] = own } }
      return try change(&own)
    }
  }

  private static func grouped(_ names: [String]) -> [TransferID: [String]] {
    var groups: [TransferID: [String]] = [:]
    for name in names where name.hasSuffix(".tmp") {
      guard let transfer = TransferID(name.prefix { $0 != "." }) else { continue }
      groups[transfer, default: []].append(name)
    }
    return groups
  }
}
