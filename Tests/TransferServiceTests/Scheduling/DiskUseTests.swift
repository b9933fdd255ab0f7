import SystemServices
import Testing

@testable import TransferService

@Suite struct DiskUseTests {
  private static let start = BootInstant(nanoseconds: 1_000_000_000)
  private static let app: AppID = 1

  private func use(files: Int64 = 0, copies: Int64 = 0) -> DiskUse {
    var use = DiskUse()
    use.counted(files: files, copies: copies, of: Self.app, at: Self.start)
    return use
  }

  private func shortage(_ use: DiskUse, _ missing: Int64?, for id: TransferID = 9, limit: Int64 = 4_000)
    -> DiskUse.Shortage?
  { use.shortage(of: missing, for: id, of: Self.app, limit: limit) }

  @Test func bytesThatARunningTransferExpectsAreTaken() {
    var use = use()
    use.began(1, of: Self.app, received: 0)
    use.claim(3_000, for: 1)
    #expect(shortage(use, 1_000) == nil)
    #expect(shortage(use, 1_001) == .init(used: 0, promised: 3_000, limit: 4_000))
    #expect(shortage(use, 3_000, for: 1) == nil, "its own claim does not count against it")
    use.advanced(1, to: 2_000)
    #expect(shortage(use, 1_001) == .init(used: 2_000, promised: 1_000, limit: 4_000))
    use.ended(1)
    #expect(shortage(use, 2_000) == nil, "what it did not get is free")
    #expect(shortage(use, 2_001) == .init(used: 2_000, promised: 0, limit: 4_000))
    use.gaveUp(2_000, of: Self.app)
    #expect(shortage(use, 4_000) == nil)
    #expect(use.shortage(of: 4_000, for: 9, of: 2, limit: 4_000) == nil, "another app has its own")
  }

  @Test(
    arguments: [
      (3_999, nil, true), (4_000, nil, false), (4_000, 0, true), (4_001, 0, false), (3_000, 1_000, true),
      (3_000, 1_001, false), (0, .max, false), (.max, .max, false),
    ] as [(Int64, Int64?, Bool)])
  func aTransferHasRoomForWhatItNeeds(_ used: Int64, _ missing: Int64?, _ hasRoom: Bool) {
    #expect((shortage(use(files: used), missing) == nil) == hasRoom)
  }

  @Test func aPartIsCountedOnce() {
    var use = use(files: 1_000)
    use.began(1, of: Self.app, received: 600)
    #expect(shortage(use, 3_001) == .init(used: 1_000, promised: 0, limit: 4_000))
    // The queue leaves out what runs.
    #expect(use.running(of: Self.app) == [1])
    use.counted(files: 400, copies: 0, of: Self.app, at: Self.start)
    use.advanced(1, to: 700)
    #expect(shortage(use, 3_001) == .init(used: 1_100, promised: 0, limit: 4_000))
  }

  @Test func copiesHoldNoUploadBack() {
    var use = use(files: 500, copies: 3_000)
    use.addCopies(400, of: Self.app)
    #expect(shortage(use, 101) == .init(used: 3_900, promised: 0, limit: 4_000))
    #expect(use.shortage(of: 101, for: 9, of: Self.app, limit: 4_000, countsCopies: false) == nil)
    #expect(use.room(of: Self.app, limit: 4_000) == 100 && use.room(of: Self.app, limit: 1) == 0)
  }

  @Test func bytesOfUnknownLengthAreOverWhenTheyPassTheLimit() {
    var use = use(files: 1_000)
    use.began(1, of: Self.app, received: 0)
    use.began(2, of: Self.app, received: 0)
    use.claim(2_000, for: 2)
    use.advanced(1, to: 1_000)
    #expect(!use.isOver(4_000, by: 1))
    use.advanced(1, to: 1_001)
    #expect(use.isOver(4_000, by: 1))
    // Its claim is its own.
    #expect(!use.isOver(4_000, by: 2))
  }

  @Test func numbersWithoutEndDoNotOverflow() {
    var use = use(files: .max, copies: .max)
    for id: TransferID in 1...3 {
      use.began(id, of: Self.app, received: 0)
      use.claim(.max, for: id)
      use.advanced(id, to: .max)
      use.claim(.max, for: id)
    }
    #expect(shortage(use, .max) == .init(used: .max, promised: .max, limit: 4_000))
    #expect(use.isOver(4_000, by: 1) && use.room(of: Self.app, limit: .max) == 0)
    for id: TransferID in 1...3 { use.ended(id) }
    #expect(use.running(of: Self.app) == [])
  }

  @Test func aCountIsGoodForAWhile() {
    #expect(DiskUse().needsCount(of: Self.app, at: Self.start))
    #expect(!use().needsCount(of: Self.app, at: Self.start + 4.9))
    #expect(use().needsCount(of: Self.app, at: Self.start + 5))
  }
}
