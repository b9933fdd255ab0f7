import Crypto
import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

/// A record of new tasks, or of changes, as it is in a file: a line with a checksum, the kind and the length, then as many bytes. The
/// descriptions are those that the queue has, byte by byte, so that thousands of tasks cost no second encoding.
enum NewTaskRecord {
  case new([TransferJournal])
  case ended([TransferID])
  case changed([QueueChange])

  private enum Kind: String { case new, ended, changed, counted }

  /// The program and the session of tasks that were created together.
  private struct Owner: Codable {
    var program: ExecutableIdentity
    var session: String
    var options: SessionOptions
    var judgesConnections: Bool
    var sealedFields: Data?
    var created: Date
  }

  // MARK: Writing

  static func encode(
    _ tasks: [(new: TransferStore.NewTransfer, id: TransferID)], of session: StoredSession, at date: Date
  ) throws -> Data {
    var owner = Owner(
      program: session.executable, session: session.identifier, options: session.options.withoutLogins,
      judgesConnections: session.judgesConnections, sealedFields: session.sealedFields, created: date)
    owner.options.httpAdditionalHeaders = nil
    var content = try MessageFraming.encode(owner)
    for (new, id) in tasks {
      let secrets = [new.sealedRequest, new.sealedPassword].map { $0?.base64EncodedString() ?? "-" }
      content.append(contentsOf: "\n\(id) \(secrets[0]) \(secrets[1])".utf8)
      if let upload = new.upload {
        content.append(contentsOf: " \(try MessageFraming.encode(upload).base64EncodedString())".utf8)
      }
      content.append(UInt8(ascii: "\n"))
      // JSON has no line breaks here.
      content.append(try new.encoded ?? MessageFraming.encode(new.description))
    }
    return frame(.new, content)
  }

  static func encode(ended ids: [TransferID]) -> Data {
    frame(.ended, Data(ids.map { "\($0)" }.joined(separator: " ").utf8))
  }

  /// Empty where there are none.
  static func encode(_ changes: [QueueChange]) throws -> Data {
    changes.isEmpty ? Data() : frame(.changed, try MessageFraming.encode(changes))
  }

  /// How many recorded changes the queue had when the records before this one were written.
  static func encode(count: Int64) -> Data { frame(.counted, Data("\(count)".utf8)) }

  private static func frame(_ kind: Kind, _ content: Data) -> Data {
    Data("\(checksum(of: content)) \(kind.rawValue) \(content.count)\n".utf8) + content + Data("\n".utf8)
  }

  // MARK: Reading

  /// How far the queue had come when the records were written. Reads no descriptions.
  static func highest(in content: Data) -> QueueNumbers {
    var highest = QueueNumbers()
    frames(in: content) { kind, text in
      if kind == .counted, let count = Int64(String(decoding: text, as: UTF8.self)) {
        highest = highest.joined(with: QueueNumbers(changes: count).plausible)
      }
      guard kind == .new else { return }
      let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      for index in stride(from: 1, to: lines.count - 1, by: 2) {
        guard let id = TransferID(String(decoding: lines[index].prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
        else { continue }
        highest = highest.joined(with: QueueNumbers(transfer: id).plausible)
      }
    }
    return highest
  }

  /// As many as are whole. The last one is not where a service was killed while it wrote.
  static func records(in content: Data) -> [NewTaskRecord] {
    var records: [NewTaskRecord] = []
    frames(in: content) { kind, text in
      // One of a newer version of the service is passed over.
      if let record = record(kind, text) { records.append(record) }
    }
    return records
  }

  private static func frames(in content: Data, _ use: (Kind?, Data) -> Void) {
    var rest = content[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let words = String(decoding: rest[..<end], as: UTF8.self).split(separator: " ")
      let body = rest[rest.index(after: end)...]
      guard words.count == 3, let count = Int(words[2]), count >= 0, body.count > count else { break }
      let text = body.prefix(count)
      guard checksum(of: text) == words[0] else { break }
      use(Kind(rawValue: String(words[1])), text)
      rest = body.dropFirst(count + 1)
    }
  }

  private static func record(_ kind: Kind?, _ content: Data) -> NewTaskRecord? {
    switch kind {
    case .new: tasks(in: content).map { .new($0) }
    case .ended:
      .ended(String(decoding: content, as: UTF8.self).split(separator: " ").compactMap { TransferID($0) })
    case .changed: (try? MessageFraming.decode([QueueChange].self, from: content)).map { .changed($0) }
    case .counted, nil: nil
    }
  }

  private static func tasks(in content: Data) -> [TransferJournal]? {
    let lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard let first = lines.first, let owner = try? MessageFraming.decode(Owner.self, from: Data(first)) else {
      return nil
    }
    return stride(from: 1, to: lines.count - 1, by: 2).compactMap { index in
      let words = String(decoding: lines[index], as: UTF8.self).split(separator: " ")
      guard (3...4).contains(words.count), let id = TransferID(words[0]),
        let description = try? MessageFraming.decode(TransferDescription.self, from: Data(lines[index + 1]))
      else { return nil }
      var upload: StoredUpload?
      if words.count == 4 {
        upload = Data(base64Encoded: String(words[3])).flatMap {
          try? MessageFraming.decode(StoredUpload.self, from: $0)
        }
        guard upload != nil else { return nil }
      }
      return TransferJournal(
        newTask: id, description, sealedRequest: Data(base64Encoded: String(words[1])),
        sealedPassword: Data(base64Encoded: String(words[2])), program: owner.program, session: owner.session,
        options: owner.options, sealedFields: owner.sealedFields, judgesConnections: owner.judgesConnections,
        created: owner.created, upload: upload)
    }
  }

  private static func checksum(of content: some DataProtocol) -> String { SHA256.hash(data: content).hexText }
}
