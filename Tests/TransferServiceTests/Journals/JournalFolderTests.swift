import Foundation
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Journals as files.
@Suite struct JournalFolderTests {
  private let folder: TemporaryFolder
  private let disk = FaultyFileSystem()
  private var journals: JournalFolder { JournalFolder(in: folder.path, disk: disk) }

  init() throws {
    folder = try TemporaryFolder()
    _ = try folder.subfolder(JournalFolder.name)
  }

  private func journal(
    _ headers: [HeaderField] = [], body: Data? = nil, offset: Int64 = 5, hasKey: Bool = true
  ) throws -> TransferJournal {
    let fixture = try StoreFixture()
    let session = try fixture.session()
    var description = TransferDescription.download("http://h/", headers: headers)
    description.request.body = body
    let id = try fixture.store.create([.init(description, host: "h")], session: session.id, date: Date()).ids[0]
    try fixture.store.commit(
      offset: offset,
      representation: .init(
        response: ResponseSummary(url: "http://h/", status: 200), validator: nil, expectedTotal: 9), of: id)
    let stored = try #require(try fixture.store.transfer(id))
    return try TransferJournal(stored, of: session, bootID: "boot") { content, _ in hasKey ? content : nil }
  }

  @Test func aJournalIsReadAsItWasWritten() throws {
    let written = try journal()
    try journals.write(written)
    #expect(try journals.read(1) == written && journals.read(2) == nil)
    #expect(try journals.transfers() == [1])
    // The same once more costs nothing.
    let count = disk.log.count
    try journals.write(written)
    #expect(disk.log.count == count)
    try journals.remove(1)
    #expect(try journals.read(1) == nil)
  }

  @Test(arguments: [0, 10, 64, 65, 200]) func aDamagedJournalIsNone(place: Int) throws {
    try journals.write(journal())
    let url = URL(fileURLWithPath: journals.path(1))
    var bytes = try Data(contentsOf: url)
    bytes[place] ^= 0x21
    try bytes.write(to: url)
    #expect(try journals.read(1) == nil)
    try bytes.prefix(place).write(to: url)
    #expect(try journals.read(1) == nil)
  }

  @Test(arguments: [FaultyFileSystem.Operation.write, .sync, .rename])
  func aJournalThatCanNotBeWrittenLeavesTheEarlierOne(operation: FaultyFileSystem.Operation) throws {
    let earlier = try journal()
    try journals.write(earlier)
    disk.set([.init(operation, code: EIO)])
    #expect(throws: SystemError.self) { try journals.write(try journal(offset: 6)) }
    #expect(try journals.read(1) == earlier)
  }

  @Test func aJournalThatCanNotBeReadNowIsNotTakenForNone() throws {
    let written = try journal()
    try journals.write(written)
    for code in [EMFILE, ENFILE, ENOMEM, EACCES] {
      disk.set([.init(.read, code: code)])
      #expect(throws: SystemError.self) { try journals.read(1) }
      #expect(throws: SystemError.self) { try journals.highestTransfer() }
    }
    // The disk has lost it.
    for code in [EIO, EUCLEAN, EBADMSG] {
      disk.set([.init(.read, code: code)])
      #expect(try journals.read(1) == nil && journals.highestTransfer() == 0)
    }
    disk.set([])
    #expect(try journals.read(1) == written && journals.highestTransfer() == 1)
  }

  /// A queue that goes on with such a number has none left.
  @Test func aNumberNearTheEndOfTheirRangeIsNotTheHighest() throws {
    var written = try journal()
    try journals.write(written)
    for number in [TransferNumbers.end, .max] {
      written.transfer = number
      try journals.write(written)
    }
    #expect(try journals.read(.max) == written && journals.highestTransfer() == 1)
    written.transfer = TransferNumbers.end - 1
    try journals.write(written)
    #expect(try journals.highestTransfer() == TransferNumbers.end - 1)
  }

  @Test func aRecordWithANumberNearTheEndOfTheirRangeIsNotTheHighest() throws {
    let fixture = try StoreFixture()
    let session = try fixture.session()
    let new = TransferStore.NewTransfer(.download("http://h/"), host: "h")
    let content = try NewTaskRecord.encode(
      [(new, .max), (new, 7), (new, TransferNumbers.end)], of: session, at: Date())
    let counts = NewTaskRecord.encode(count: 5) + NewTaskRecord.encode(count: TransferNumbers.end)
    #expect(NewTaskRecord.highest(in: counts + content) == QueueNumbers(transfer: 7, changes: 5))
  }

  /// As an earlier version of the service left them in the queue.
  @Test func fieldsAreNotInTheFile() throws {
    let plain = try journal()
    #expect(!plain.lacksFields && plain.sealedRequest == nil && plain.sealedFields == nil)
    let fields = [HeaderField("Accept", "text/plain"), HeaderField("authorization", "Basic abc")]
    let sealed = try journal(fields, body: Data("body".utf8))
    var request = sealed.description.request
    #expect(!sealed.lacksFields && request.headers.isEmpty && request.body == nil)
    try MessageFraming.decode(SealedFields.self, from: try #require(sealed.sealedRequest)).put(into: &request)
    #expect(request.headers == fields && request.body == Data("body".utf8))
    let lacking = try journal(fields, hasKey: false)
    #expect(lacking.lacksFields && lacking.sealedRequest == nil && lacking.description.request.headers.isEmpty)
  }
}
