import Foundation
import SystemServices

/// The files that apps give their downloads to begin with: a hard link, or a copy from another disk. `partial/7.import` is a
/// copy that is not complete yet.
extension TransferFiles {
  static let importSuffix = ".import"

  /// Gives a transfer a file of `count` bytes or more to begin with, on the disk when this returns. The file keeps its
  /// other name. Blocks as long as the file system of the file hangs.
  ///
  /// - Parameters:
  ///   - goesOn: asked before each step that another file system may hold up; where it says no, nothing more is done.
  ///   - mayTake: asked once, before the transfer's own file changes. From then on only the service's own disk is waited for.
  /// - Returns: false when the file is shorter, has got a third name meanwhile, or is not wanted any more.
  /// - Throws: `SpaceReckoning.Shortage` where the disk has no room for a copy.
  func takeOver(
    _ opened: OpenedResumeFile, for transfer: TransferID, count: Int64, goesOn: @escaping () -> Bool = { true },
    mayTake: () -> Bool = { true }
  ) throws -> Bool {
    let (file, path) = (opened.file, partial(transfer))
    guard try file.regularStatus().st_size >= count, goesOn() else { return false }
    guard try isOnOwnDisk(file) else {
      return try copyOver(file, for: transfer, count: count, goesOn: goesOn, mayTake: mayTake)
    }
    guard mayTake() else { return false }
    spares.shared(transfer)
    // An interrupted copy may have left a file.
    try removeFile("\(transfer)", in: TransferFiles.partialName)
    guard try disk.link(file, to: path) else {
      return try copyOver(file, for: transfer, count: count, goesOn: { true }, mayTake: { true })
    }
    // Under its own name and this one: another import of the same file may have taken it meanwhile.
    guard try file.regularStatus().st_nlink <= 2, opened.hasName else {
      try disk.remove(path)
      return false
    }
    try sync(path)
    try disk.syncDirectory(partialDirectory)
    return true
  }

  /// Whether the part of a transfer is under a second name, as an import that was cut off leaves it.
  func partHasOtherName(_ transfer: TransferID) -> Bool {
    var status = stat()
    return lstat(partial(transfer), &status) == 0 && status.st_nlink > 1
  }

  /// Whether the file is the part of a transfer.
  func isPart(_ file: SourceFile, of transfer: TransferID) throws -> Bool {
    try HeldFolder(partialDirectory).has("\(transfer)", as: file)
  }

  func isOnOwnDisk(_ file: SourceFile) throws -> Bool { try HeldFolder(partialDirectory).sharesDisk(with: file) }

  private func copyOver(
    _ file: SourceFile, for transfer: TransferID, count: Int64, goesOn: () -> Bool, mayTake: () -> Bool
  ) throws -> Bool {
    let copy = partial(transfer) + TransferFiles.importSuffix
    try disk.remove(copy)
    var isTaken = false
    defer { if !isTaken { try? disk.remove(copy) } }
    if try !disk.clone(file, to: copy) {
      let free = try disk.freeSpace(at: partialDirectory)
      // As a run claims it: these are the first bytes of the download.
      guard let claim = space.claimCopy(count, free: free, sparing: 0) else {
        throw SpaceReckoning.Shortage(needed: count, available: space.available(of: free))
      }
      defer { claim.release() }
      guard try self.copy(file, count: count, to: copy, claim, goesOn: goesOn) else { return false }
    }
    // Only our own disk is waited for from here on, however slow it is.
    guard mayTake() else { return false }
    try sync(copy)
    try disk.rename(copy, to: partial(transfer))
    isTaken = true
    try disk.syncDirectory(partialDirectory)
    return true
  }

  private static let pieceLength = 1 << 20

  private func copy(
    _ file: SourceFile, count: Int64, to path: String, _ claim: ClaimedSpace.CopyClaim, goesOn: () -> Bool
  ) throws -> Bool {
    let copy = try disk.open(path)
    defer { try? copy.close() }
    var piece = [UInt8](repeating: 0, count: TransferFiles.pieceLength)
    var offset: Int64 = 0
    while offset < count {
      let length = Int(min(count - offset, Int64(piece.count)))
      let read = try piece.withUnsafeMutableBytes { bytes in
        try file.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]), at: offset)
      }
      guard read == length, goesOn() else { return false }
      try piece.withUnsafeBytes { try copy.write(UnsafeRawBufferPointer(rebasing: $0[..<length]), at: offset) }
      offset += Int64(length)
      claim.wrote(rest: count - offset)
    }
    return true
  }

  private func sync(_ path: String) throws {
    let file = try disk.open(path)
    defer { try? file.close() }
    try file.sync()
  }
}
