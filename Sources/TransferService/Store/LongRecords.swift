import Foundation
import SystemServices

/// Follows the records of a table that go on in pages of their own, in the file of a queue that no connection changes
/// meanwhile.
///
/// SQLite looks at no more of the last page of a record than the bytes that the record has there, so it reads and copies
/// garbage as it is. Each page begins with the number of the next one, which is zero in the last: random bytes there tell.
struct LongRecords {
  private let file: SourceFile
  private let pageSize: Int
  /// Without the bytes that are reserved at the end of each page.
  private let usable: Int
  private let pageCount: Int

  /// nil when it is no file of SQLite.
  init?(_ path: String) throws {
    file = try SourceFile.open(path)
    guard let header = try LongRecords.read(100, of: file, at: 0) else { return nil }
    let size = Int(header[16]) << 8 | Int(header[17])
    pageSize = size == 1 ? 65_536 : size
    usable = pageSize - Int(header[20])
    guard pageSize >= 512, usable >= 480 else { return nil }
    pageCount = Int(try file.regularStatus(path: path).st_size) / pageSize
  }

  /// The numbers of the rows whose records do not end where they should. Rows of pages that are damaged themselves may be
  /// missing.
  ///
  /// - Parameter root: the first page of a table whose rows have numbers.
  func damagedRows(from root: Int) throws -> Set<Int64> {
    var found: Set<Int64> = []
    var waiting = [root]
    // A page belongs to one table, or to one record: so no page is looked at twice.
    var seen: Set<Int> = []
    while let number = waiting.popLast() {
      guard isPage(number), seen.insert(number).inserted,
        let bytes = try LongRecords.read(usable, of: file, at: offset(of: number))
      else { continue }
      let page = Page(bytes: bytes)
      let start = number == 1 ? 100 : 0
      guard let kind = page.integer(at: start, bytes: 1), let count = page.integer(at: start + 3, bytes: 2) else {
        continue
      }
      switch kind {
      case 5:
        for index in 0...count {
          // The last child is in the header.
          let place = index == count ? start + 8 : page.integer(at: start + 12 + 2 * index, bytes: 2)
          if let child = place.flatMap({ page.integer(at: $0, bytes: 4) }) { waiting.append(child) }
        }
      case 13:
        for index in 0..<count {
          guard let cell = page.integer(at: start + 8 + 2 * index, bytes: 2) else { continue }
          if let id = try damagedRow(in: page, at: cell, &seen) { found.insert(id) }
        }
      default: continue
      }
    }
    return found
  }

  /// nil when the record ends where it should, or has no pages of its own.
  private func damagedRow(in page: Page, at cell: Int, _ seen: inout Set<Int>) throws -> Int64? {
    guard let (size, afterSize) = page.variable(at: cell), let (id, body) = page.variable(at: afterSize) else {
      return nil
    }
    // As the format of the file has it: so many bytes are in the page of the row.
    let (least, most) = ((usable - 12) * 32 / 255 - 23, usable - 35)
    guard size > most, size <= Int64(pageCount) * Int64(pageSize) else { return nil }
    let share = least + (Int(size) - least) % (usable - 4)
    let local = share <= most ? share : least
    guard var next = page.integer(at: body + local, bytes: 4) else { return nil }
    for _ in 0..<(Int(size) - local + usable - 5) / (usable - 4) {
      guard isPage(next), seen.insert(next).inserted,
        let bytes = try LongRecords.read(4, of: file, at: offset(of: next)),
        let number = Page(bytes: bytes).integer(at: 0, bytes: 4)
      else { return id }
      next = number
    }
    return next == 0 ? nil : id
  }

  // MARK: Bytes

  private func isPage(_ number: Int) -> Bool { number > 0 && number <= pageCount }
  private func offset(of page: Int) -> Int64 { Int64(page - 1) * Int64(pageSize) }

  /// nil where the file has no such bytes, or the disk can't read them.
  private static func read(_ count: Int, of file: SourceFile, at offset: Int64) throws -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    do {
      let read = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
      return read == count ? bytes : nil
    } catch let error as SystemError where !error.isTransient { return nil }
  }

  private struct Page {
    let bytes: [UInt8]

    func integer(at place: Int, bytes count: Int) -> Int? {
      guard place >= 0, place + count <= bytes.count else { return nil }
      return bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
    }

    /// A number of one to nine bytes, and the place behind it.
    func variable(at start: Int) -> (Int64, Int)? {
      var value: UInt64 = 0
      for index in 0..<9 {
        guard let byte = integer(at: start + index, bytes: 1) else { return nil }
        if index == 8 { return (Int64(bitPattern: value << 8 | UInt64(byte)), start + 9) }
        value = value << 7 | UInt64(byte & 0x7f)
        if byte < 0x80 { return (Int64(bitPattern: value), start + index + 1) }
      }
      return nil
    }
  }
}
