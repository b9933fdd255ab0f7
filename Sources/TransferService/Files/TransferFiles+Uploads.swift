import SystemServices

/// The copies of uploads' files: `uploads/7` of transfer 7, from its creation to its end.
extension TransferFiles {
  static let uploadName = "uploads"
  /// Ends the names of copies whose transfers have no numbers yet.
  static let newSuffix = ".new"

  package var uploadDirectory: String { "\(directory)/\(TransferFiles.uploadName)" }
  package func upload(_ transfer: TransferID) -> String { "\(uploadDirectory)/\(transfer)" }

  /// Gives a copy the name of its transfer. Does nothing when it has it already.
  func nameUpload(_ copy: String, of transfer: TransferID) throws {
    let path = "\(uploadDirectory)/\(copy)"
    guard try disk.size(of: path) != nil else { return }
    try disk.rename(path, to: upload(transfer))
  }

  /// The names of copies that were being made when the service ended: no app was told that it has their tasks.
  func unnamedUploads() throws -> [String] {
    try disk.names(in: uploadDirectory).filter { $0.hasSuffix(TransferFiles.newSuffix) }
  }

  package func removeUpload(_ transfer: TransferID) throws {
    try removeFile("\(transfer)", in: TransferFiles.uploadName)
  }
}
