import Foundation

/// The form of a file of secrets. Lengths are big-endian; secrets are never in ordinary memory.
///
/// ```
/// file  := "URLSecr1" item*
/// item  := count:UInt8 pair* length:UInt32 secret
/// pair  := length:UInt8 name length:UInt32 value
/// ```
enum SecretFileFormat {
  static let signature: [UInt8] = Array("URLSecr1".utf8)

  /// The file does not follow the form.
  struct Damaged: Error {}

  // MARK: Reading

  static func items(in file: UnsafeRawBufferPointer) throws -> [SecretItem] {
    var reader = Reader(rest: file[...])
    guard try reader.take(signature.count).elementsEqual(signature) else { throw Damaged() }
    var items: [SecretItem] = []
    while !reader.rest.isEmpty {
      var pairs: [(name: String, value: String)] = []
      for _ in 0..<(try reader.byte()) {
        let name = try reader.text(count: Int(reader.byte()))
        pairs.append((name, try reader.text(count: reader.length())))
      }
      let secret = try reader.take(reader.length())
      items.append(
        SecretItem(
          attributes: SecretAttributes(ofItem: pairs),
          secret: try SecretBytes(UnsafeRawBufferPointer(rebasing: secret))))
    }
    return items
  }

  private struct Reader {
    var rest: UnsafeRawBufferPointer.SubSequence

    mutating func take(_ count: Int) throws -> UnsafeRawBufferPointer.SubSequence {
      guard count <= rest.count else { throw Damaged() }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }

    mutating func byte() throws -> UInt8 {
      guard let byte = rest.popFirst() else { throw Damaged() }
      return byte
    }

    mutating func length() throws -> Int { try take(4).reduce(0) { $0 << 8 | Int($1) } }

    mutating func text(count: Int) throws -> String {
      guard let text = String(validating: try take(count), as: UTF8.self) else { throw Damaged() }
      return text
    }
  }

  // MARK: Writing

  /// The whole file.
  static func file(of items: [SecretItem]) throws -> SecretBytes {
    var measure = Writer(target: nil)
    try write(items, to: &measure)
    return try SecretBytes(capacity: measure.count) { buffer in
      var writer = Writer(target: buffer)
      try write(items, to: &writer)
      return writer.count
    }
  }

  private static func write(_ items: [SecretItem], to writer: inout Writer) throws {
    writer.append(signature)
    for item in items {
      let pairs = item.attributes.present.filter { !$0.value.isEmpty }
      writer.append(CollectionOfOne(UInt8(clamping: pairs.count)))
      for (name, value) in pairs {
        writer.append(CollectionOfOne(UInt8(clamping: name.utf8.count)))
        writer.append(name.utf8)
        try writer.append(length: value.utf8.count)
        writer.append(value.utf8)
      }
      try writer.append(length: item.secret.count)
      item.secret.withBytes { writer.append($0) }
    }
  }

  /// Writes into `target`, or only counts.
  private struct Writer {
    let target: UnsafeMutableRawBufferPointer?
    var count = 0

    mutating func append(_ bytes: some Collection<UInt8>) {
      if let target { UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyBytes(from: bytes) }
      count += bytes.count
    }

    mutating func append(length: Int) throws {
      guard let length = UInt32(exactly: length) else { throw Damaged() }
      append([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) })
    }
  }
}
