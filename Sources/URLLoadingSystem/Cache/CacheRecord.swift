import Crypto
import Foundation
import HTTPSemantics
import NIOCore

/// The bytes in the index on disk that describe an item besides its body.
struct CacheRecord {
  var head: StoredHead
  /// A property list; nil for none.
  var userInfo: Data?

  private static let version: UInt8 = 1

  init(head: StoredHead, userInfo: Data?) {
    self.head = head
    self.userInfo = userInfo
  }

  // MARK: Writing

  var encoded: ByteBuffer {
    var bytes = ByteBuffer()
    let message = head.head
    bytes.writeInteger(CacheRecord.version)
    bytes.writeInteger(UInt8(truncatingIfNeeded: message.version.major))
    bytes.writeInteger(UInt8(truncatingIfNeeded: message.version.minor))
    bytes.writeInteger(UInt32(clamping: message.status))
    CacheRecord.write(message.reason, to: &bytes)
    bytes.writeInteger(UInt32(message.fields.fields.count))
    for field in message.fields.fields {
      CacheRecord.write(field.name, to: &bytes)
      CacheRecord.write(field.value, to: &bytes)
    }
    bytes.writeInteger(head.requestTime)
    bytes.writeInteger(head.responseTime)
    CacheRecord.write(head.selecting.names.joined(separator: ","), to: &bytes)
    CacheRecord.write(head.selecting.digest, to: &bytes)
    CacheRecord.write(head.credentialMark ?? [], to: &bytes)
    bytes.writeInteger(head.part?.first ?? -1)
    bytes.writeInteger(head.part?.last ?? -1)
    bytes.writeInteger(head.part?.total ?? -1)
    bytes.writeInteger(head.bodyLength)
    bytes.writeInteger(UInt8(head.isDecoded ? 1 : 0))
    CacheRecord.write(head.url, to: &bytes)
    bytes.writeInteger(UInt8(userInfo == nil ? 0 : 1))
    CacheRecord.write(userInfo.map { Array($0) } ?? [], to: &bytes)
    return bytes
  }

  private static func write(_ text: String, to bytes: inout ByteBuffer) {
    bytes.writeInteger(UInt32(text.utf8.count))
    bytes.writeString(text)
  }

  private static func write(_ data: [UInt8], to bytes: inout ByteBuffer) {
    bytes.writeInteger(UInt32(data.count))
    bytes.writeBytes(data)
  }

  // MARK: Reading

  /// nil for bytes that are no record, and for a record of another version.
  init?(_ encoded: ByteBuffer) {
    var bytes = encoded
    guard bytes.readInteger(as: UInt8.self) == CacheRecord.version, let major = bytes.readInteger(as: UInt8.self),
      let minor = bytes.readInteger(as: UInt8.self), let status = bytes.readInteger(as: UInt32.self),
      let reason = CacheRecord.readText(&bytes), let fields = CacheRecord.readFields(&bytes),
      let requestTime = bytes.readInteger(as: Int64.self), let responseTime = bytes.readInteger(as: Int64.self),
      let names = CacheRecord.readText(&bytes), let digest = CacheRecord.readBytes(&bytes),
      let mark = CacheRecord.readBytes(&bytes), let first = bytes.readInteger(as: Int64.self),
      let last = bytes.readInteger(as: Int64.self), let total = bytes.readInteger(as: Int64.self),
      let length = bytes.readInteger(as: Int64.self), let isDecoded = bytes.readInteger(as: UInt8.self),
      let url = CacheRecord.readText(&bytes), let hasUserInfo = bytes.readInteger(as: UInt8.self),
      let userInfo = CacheRecord.readBytes(&bytes), bytes.readableBytes == 0
    else { return nil }
    let message = HTTPResponseHead(
      version: HTTPVersion(major: Int(major), minor: Int(minor)), status: Int(status), reason: reason, fields: fields)
    head = StoredHead(
      head: message, url: url, requestTime: requestTime, responseTime: responseTime,
      selecting: SelectingFields(
        names: names.utf8.split(separator: 0x2c).map { String(Substring($0)) }, digest: digest),
      credentialMark: mark.isEmpty ? nil : mark,
      part: first < 0 || last < first ? nil : StoredPart(first: first, last: last, total: total < 0 ? nil : total))
    head.bodyLength = max(0, length)
    head.isDecoded = isDecoded == 1
    self.userInfo = hasUserInfo == 1 ? Data(userInfo) : nil
  }

  private static func readText(_ bytes: inout ByteBuffer) -> String? {
    bytes.readInteger(as: UInt32.self).flatMap { bytes.readString(length: Int($0)) }
  }

  private static func readBytes(_ bytes: inout ByteBuffer) -> [UInt8]? {
    bytes.readInteger(as: UInt32.self).flatMap { bytes.readBytes(length: Int($0)) }
  }

  private static func readFields(_ bytes: inout ByteBuffer) -> HTTPFields? {
    // Each field takes eight bytes at least: a count that is wrong reserves nothing.
    guard let count = bytes.readInteger(as: UInt32.self), Int(count) <= bytes.readableBytes / 8 else { return nil }
    var fields = HTTPFields()
    for _ in 0..<count {
      guard let name = readText(&bytes), let value = readText(&bytes) else { return nil }
      fields.append(name, value)
    }
    return fields
  }

  /// The seal of a row: over the record and the digests of the body's blocks, so that no head meets another body.
  static func seal(_ record: some DataProtocol, _ digests: [UInt8]) -> Data {
    var hash = SHA256()
    hash.update(data: record)
    hash.update(data: digests)
    return Data(hash.finalize().prefix(CacheFile.digestLength))
  }
}
