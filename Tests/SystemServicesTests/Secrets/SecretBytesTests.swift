import Foundation
import Testing

@testable import SystemServices

@Suite struct SecretBytesTests {
  @Test(arguments: ["", "a", "p\u{e4}ss word", String(repeating: "long ", count: 5000)])
  func contentIsKept(_ text: String) throws {
    let secret = try SecretBytes(text)
    #expect(secret.count == text.utf8.count)
    #expect(secret.isEmpty == text.isEmpty)
    #expect(secret.withBytes { Array($0) } == Array(text.utf8))
    #expect(secret.text() == text)
  }

  @Test func bytesThatAreNoTextAreKept() throws {
    let secret = try [0xff, 0x00, 0xfe].map { UInt8($0) }.withUnsafeBytes { try SecretBytes($0) }
    #expect(secret.withBytes { Array($0) } == [0xff, 0x00, 0xfe])
    #expect(secret.text() == nil)
  }

  @Test func contentDecidesEquality() throws {
    #expect(try SecretBytes("one") == SecretBytes("one"))
    #expect(try SecretBytes("one") != SecretBytes("ono"))
    #expect(try SecretBytes("one") != SecretBytes("one "))
    #expect(try SecretBytes("") == SecretBytes(""))
  }

  @Test func noDescriptionShowsTheContent() throws {
    let secret = try SecretBytes("hunter2")
    var dumped = ""
    dump(secret, to: &dumped)
    dump(SecretItem(attributes: SecretAttributes([.user: "u"]), secret: secret), to: &dumped)
    let texts = ["\(secret)", String(reflecting: secret), dumped, "\(GSSCredential(user: "u", password: secret))"]
    for text in texts { #expect(!text.contains("hunter2")) }
  }

  @Test func failingFillThrows() {
    #expect(throws: SystemError(EIO, "test")) {
      try SecretBytes(capacity: 10) { _ in throw SystemError(EIO, "test") }
    }
  }

  /// `dd`: not in core dumps; `lo`: locked in memory, where the limit allows it.
  @Test func memoryIsLeftOutOfCoreDumps() throws {
    let secret = try SecretBytes("hunter2")
    let address = try #require(secret.withBytes { $0.baseAddress.map { UInt(bitPattern: $0) } })
    let flags = try #require(self.flags(at: address))
    #expect(flags.contains("dd"))
    var limit = rlimit()
    #expect(getrlimit(__rlimit_resource_t(8), &limit) == 0)
    if limit.rlim_cur > 1 << 20 { #expect(flags.contains("lo")) }
  }

  @Test func memoryIsGivenBack() throws {
    for _ in 0..<300 { _ = try SecretBytes(capacity: 1 << 20) { $0.count } }
    // Other tests have secrets too, but small ones.
    let kibibytes = mappings().filter { $0.flags.contains("dd") }.map(\.kibibytes).reduce(0, +)
    #expect(kibibytes < 100 << 10)
  }

  private struct Mapping {
    let addresses: Range<UInt>
    var flags: [Substring] = []
    var kibibytes: Int { addresses.count >> 10 }
  }

  /// The VmFlags of the mapping that has the address; nil when there is none.
  private func flags(at address: UInt) -> [Substring]? {
    mappings().first { $0.addresses.contains(address) }?.flags
  }

  private func mappings() -> [Mapping] {
    // Foundation's way to read a whole file takes only the first page of such a file.
    guard let file = FileHandle(forReadingAtPath: "/proc/self/smaps") else { return [] }
    var mappings: [Mapping] = []
    for line in String(decoding: file.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      let ends = (words.first ?? "").split(separator: "-").compactMap { UInt($0, radix: 16) }
      if ends.count == 2 { mappings.append(Mapping(addresses: ends[0]..<ends[1])) }
      if line.hasPrefix("VmFlags:"), !mappings.isEmpty { mappings[mappings.count - 1].flags = Array(words.dropFirst()) }
    }
    return mappings
  }
}
