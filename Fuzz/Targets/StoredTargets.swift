import Foundation
import TransferProtocol
import URLLoadingSystem

extension FuzzTarget {
  /// Resume data, of downloads and of uploads: it comes from wherever the app kept it.
  static let resumeData = FuzzTarget("resume-data") { bytes in
    let data = Data(bytes)
    if let download = try? DownloadResumeData(decoding: data) {
      guard let written = download.encoded() else { throw Contradiction("what was read can't be written") }
      let again = try? DownloadResumeData(decoding: written)
      try require(again == download, "written and read again it differs")
    }
    if let upload = try? UploadResumeData(decoding: data) {
      guard let written = upload.encoded() else { throw Contradiction("what was read can't be written") }
      let again = try? UploadResumeData(decoding: written)
      try require(again == upload, "written and read again it differs")
    }
  }

  /// What an app and the transfer service say to each other.
  static let messages = FuzzTarget("messages") { bytes in
    let (choice, rest) = bytes.choice
    // Fuzzers find four bytes of length with difficulty: half of the time they are put in front.
    let stream = choice & 1 == 0 ? rest : withUnsafeBytes(of: UInt32(rest.count).bigEndian) { Array($0) } + rest
    try check(ClientMessage.self, stream, pieceSize: choice >> 1 + 1)
    try check(ServiceMessage.self, stream, pieceSize: choice >> 1 + 1)
  }

  private static func check<Message: Codable & Equatable>(
    _ type: Message.Type, _ bytes: [UInt8], pieceSize: Int
  ) throws {
    let whole = messages(type, [bytes[...]])
    let pieces = messages(type, bytes.pieces(of: pieceSize))
    try require(whole.0 == pieces.0 && whole.1 == pieces.1, "in pieces of \(pieceSize): \(pieces); at once: \(whole)")
    for message in whole.0 {
      let frame = try MessageFraming.frame(message)
      try require(messages(type, [Array(frame)[...]]).0.count == 1, "our own frame can't be read: \(message)")
    }
  }

  private static func messages<Message: Decodable>(
    _ type: Message.Type, _ pieces: [ArraySlice<UInt8>]
  ) -> ([Message], hasFailed: Bool) {
    var decoder = MessageDecoder<Message>()
    var messages: [Message] = []
    do {
      for piece in pieces {
        decoder.append(piece)
        while let message = try decoder.next() { messages.append(message) }
      }
      return (messages, false)
    } catch { return (messages, true) }
  }
}
