import SystemServices

extension TransferFiles {
  private static let probeName = "probe.tmp"
  private static let roomName = "room.tmp"

  /// Whether a file is that of a probe, which a service that is killed leaves behind.
  static func isOfProbe(_ name: String) -> Bool { [probeName, roomName].contains(name) }

  /// Writes, syncs and removes a file in each folder. Throws what is wrong with them; asks no server for anything.
  /// - Parameters:
  ///   - count: The size of the file in the folder of parts.
  ///   - name: The file's. Two probes at the same time need two.
  func probe(writing count: Int = 1, as name: String = TransferFiles.probeName) throws {
    for folder in folders {
      try disk.probe("\(folder)/\(name)", writing: folder == partialDirectory ? count : 1)
      try disk.syncDirectory(folder)
    }
  }

  /// Makes folders again that were removed, as long as the queue is where it was: what they had is lost, and downloads begin
  /// at zero.
  func replaceLostDirectories() throws {
    guard try disk.size(of: "\(directory)/\(TransferStore.fileName)") != nil else { return }
    try createDirectories()
  }

  /// How many bytes are free when there is no room for `needed`; nil when there is.
  /// - Parameters:
  ///   - needed: 0 when it is not known.
  ///   - unclaimed: How many of the free bytes belong to no running transfer.
  func shortage(of needed: Int64, unclaimed: (Int64) -> Int64 = { $0 }) throws -> Int64? {
    let available = unclaimed(try disk.freeSpace(at: partialDirectory))
    return available >= max(needed, Self.leastRoom) ? nil : available
  }

  /// Whether a file of the least size can be written: the user's share of the disk may be used up, which only a write finds
  /// out. Throws what else is wrong.
  func probeRoom() throws -> Bool {
    do { try probe(writing: Int(Self.leastRoom), as: Self.roomName) } catch let error as SystemError
      where error.isNoSpace
    { return false }
    return true
  }

  private static let leastRoom: Int64 = 1 << 20
}

extension DurableFileSystem {
  /// Writes, syncs and removes a file.
  func probe(_ path: String, writing count: Int) throws {
    let file = try open(path)
    do {
      try [UInt8](repeating: 0x70, count: count).withUnsafeBytes { try file.write($0, at: 0) }
      try file.sync()
      try file.close()
    } catch {
      try? file.close()
      try? remove(path)
      throw error
    }
    try remove(path)
  }
}
