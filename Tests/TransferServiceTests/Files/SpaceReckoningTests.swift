import Testing

@testable import TransferService

@Suite struct SpaceReckoningTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Claims of transfers 1, 2, …, and how much of each is written.
    let claims: [(needed: Int64, written: Int64)]
    let free: Int64
    let needed: Int64
    let available: Int64
    let isTaken: Bool
  }

  static let rows = [
    Row(testDescription: "an empty disk takes one", claims: [], free: 10, needed: 10, available: 10, isTaken: true),
    Row(testDescription: "a full disk does not", claims: [], free: 9, needed: 10, available: 9, isTaken: false),
    Row(
      testDescription: "the space of another counts no more", claims: [(6, 0)], free: 10, needed: 5, available: 4,
      isTaken: false),
    Row(
      testDescription: "the rest is for the next", claims: [(6, 0)], free: 10, needed: 4, available: 4, isTaken: true),
    Row(
      testDescription: "all of them count", claims: [(3, 0), (3, 0), (3, 0)], free: 10, needed: 2, available: 1,
      isTaken: false),
    Row(
      testDescription: "written bytes are not counted twice", claims: [(6, 5)], free: 5, needed: 4, available: 4,
      isTaken: true),
    Row(
      testDescription: "more than the server announced claims no less than nothing", claims: [(6, 9)], free: 5,
      needed: 5, available: 5, isTaken: true),
    Row(
      testDescription: "a disk that others have filled has nothing left", claims: [(20, 0)], free: 5, needed: 1,
      available: 0, isTaken: false),
    Row(
      testDescription: "nothing needs nothing", claims: [(20, 0)], free: 5, needed: 0, available: 0, isTaken: true),
    Row(
      testDescription: "numbers without end do not overflow", claims: [(.max, 0), (.max, 0)], free: .max, needed: .max,
      available: 0, isTaken: false),
  ]

  @Test(arguments: rows) func space(_ row: Row) {
    var reckoning = SpaceReckoning()
    for (index, claim) in row.claims.enumerated() {
      // They were taken when there was room.
      _ = reckoning.claim(claim.needed, for: Int64(index + 1), free: .max)
    }
    for (index, claim) in row.claims.enumerated() {
      reckoning.wrote(Int64(index + 1), rest: claim.needed - claim.written)
    }
    #expect(reckoning.available(of: row.free) == row.available)
    let shortage = reckoning.claim(row.needed, for: 99, free: row.free)
    let expected = SpaceReckoning.Shortage(needed: row.needed, available: row.available)
    #expect(shortage == (row.isTaken ? nil : expected))
  }

  @Test func copiesClaimSpaceBesideTransfers() {
    var reckoning = SpaceReckoning()
    _ = reckoning.claim(4, for: 1, free: 20)
    #expect(reckoning.claimCopy(7, free: 20, sparing: 10) == nil)
    let first = reckoning.claimCopy(6, free: 20, sparing: 10)
    #expect(first != nil && reckoning.claimCopy(1, free: 20, sparing: 10) == nil)
    #expect(reckoning.available(of: 20) == 10 && reckoning.available(of: 20, for: 1) == 14)
    if let first { reckoning.wroteCopy(first, rest: 2) }
    #expect(reckoning.available(of: 16) == 10)
    let second = reckoning.claimCopy(.max, free: .max, sparing: 0)
    #expect(second == nil)
    if let first { reckoning.releaseCopy(first) }
    #expect(reckoning.available(of: 14) == 10)
  }

  @Test func aClaimTakesThePlaceOfTheOneBefore() {
    var reckoning = SpaceReckoning()
    #expect(reckoning.claim(8, for: 1, free: 10) == nil)
    #expect(reckoning.claim(9, for: 1, free: 10) == nil)
    #expect(reckoning.claim(11, for: 1, free: 10) == SpaceReckoning.Shortage(needed: 11, available: 10))
    #expect(reckoning.available(of: 10) == 1)
    reckoning.release(1)
    #expect(reckoning.available(of: 10) == 10)
    reckoning.wrote(1, rest: 5)
    #expect(reckoning == SpaceReckoning())
  }
}
