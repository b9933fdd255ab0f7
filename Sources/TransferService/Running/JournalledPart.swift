import Crypto
import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import SystemServices
import TransferProtocol
import URLLoadingSystem

/// The partial file of a background download, and the row of the queue that says how many of its bytes count.
///
/// Data is synced before the offset that counts it is committed, and dropped bytes are uncounted before they are
/// dropped, so that the queue never counts bytes that a crash or a power failure has taken. Confined to the load's loop;
/// what touches the disk runs on the runner's pool.
///
/// The answer to a request that is not repeated can't be asked for again. A small one is in memory until it is whole, and is then
/// written as often as it takes for the storage to take it.
final class JournalledPart: DownloadDestination, @unchecked Sendable {
  /// The response that the bytes belong to, to be committed with them.
  var response: ResponseSummary? {
    get {
      loop.assertInEventLoop()
      return storedResponse
    }
    set {
      loop.assertInEventLoop()
      storedResponse = newValue
    }
  }

  /// Called when all bytes have arrived, and the file is about to be kept.
  var arrived: () -> Void = {}
  /// Called with the reason when an answer in memory waits for the storage to be used again.
  var awaitsStorage: (String) -> Void = { _ in }
  /// Holds the next bytes back; nil: they come as fast as they can.
  var pacing: RunPacing?

  private var storedResponse: ResponseSummary?
  private let id: TransferID
  private let runner: DownloadRunner
  private let control: LoadControl
  private let loop: any EventLoop
  private var writer: PartialFileWriter?
  private var representation: DownloadRepresentation
  /// How many bytes are in the file, while no writer adds to them.
  private var offset: Int64
  /// Whether a try that is lost takes nothing from the server and the app but the time of another one.
  private let isCheaplyRepeated: Bool
  private let isRepeatable: Bool
  /// The answer to a request that is not repeated, while it is in memory alone.
  private var held: ByteBuffer?
  /// The largest answer, in bytes, that is in memory until it is whole.
  static let largestHeld: Int64 = 1 << 20
  /// The largest file, in bytes, that is loaded again where its end was not written.
  static let largestUncounted: Int64 = 1 << 20
  /// A body of so many bytes takes long enough for the memory of what led to it to be given back.
  static let largeBody: Int64 = 256 << 20
  private var hasReleasedMemory = false

  init(_ job: DownloadJob, runner: DownloadRunner, in context: LoadContext) {
    id = job.id
    self.runner = runner
    control = context.control
    loop = context.loop
    offset = job.committedOffset
    storedResponse = job.response
    representation = job.representation
    isRepeatable = job.request.isRepeatable
    isCheaplyRepeated =
      job.kind != .upload && job.committedOffset == 0 && HTTPMethod.isIdempotent(job.request.method.uppercased())
  }

  var received: Int64 {
    loop.assertInEventLoop()
    return heldCount ?? writer?.received ?? offset
  }

  /// The bytes that a later try can go on with when `count` bytes are on the disk.
  func kept(of count: Int64) -> KeptBytes {
    loop.assertInEventLoop()
    return KeptBytes(representation.canBeContinued ? count : 0, of: representation.total)
  }

  /// Opens the file and cuts it to what counts: what was written after the last commit may never have reached the disk.
  func open() async throws {
    loop.assertInEventLoop()
    let (runner, id, committed) = (self.runner, self.id, offset)
    // It seals the answer, which the queue gets with the first bytes.
    if let key = runner.store.key, !key.hasSettled { try await settle(key) }
    offset = try await onDisk {
      if let folder = try runner.files.setAsideUnlessFile(id, in: TransferFiles.partialName) {
        runner.log.error("transfer \(id) begins again: its part was no file, and what had its name is in \(folder)")
      }
      try runner.clearCompleteName(of: id)
      try runner.files.takeBackComplete(id, count: committed)
      try runner.files.takeBackPart(id, count: committed)
      // A small file whose end was not written: it may be of another resource by now.
      if committed == 0, try runner.files.disk.size(of: runner.files.complete(id)) != nil {
        let folder = try runner.files.setAside(id, in: TransferFiles.completeName)
        runner.log.warning(
          "transfer \(id) begins again: the end of its file was not written, and the file is in \(folder)")
      }
      let file = try runner.files.openPart(id, count: committed)
      defer { try? file.close() }
      let usable = min(try file.size, committed)
      try file.truncate(to: usable)
      return usable
    }
  }

  /// A keychain that hangs is no reason not to end the try.
  private func settle(_ key: QueueKey) async throws {
    let settled = PendingResult<Void>()
    key.open { settled.finish(.success(())) }
    try await control.whileClientHoldsLoad {
      try await control.abortable(onAbort: { settled.finish(.failure($0)) }) { try await settled.value() }
    }
  }

  /// Bytes that have to be free before the request is sent: an answer that has no room can't be asked for again.
  var roomForAnswer: Int64 { isRepeatable ? 0 : 1 << 18 }

  /// Before a server is asked: an earlier try found out how much is needed, or there has to be room for the answer.
  func claimSpace(_ needed: Int64) async throws {
    loop.assertInEventLoop()
    let (runner, id) = (self.runner, self.id)
    try await onDisk { try runner.claimSpace(needed, for: id) }
  }

  func begin(_ representation: DownloadRepresentation) async throws {
    loop.assertInEventLoop()
    try await endWriting()
    self.representation = representation
    let rest = max(0, (representation.total ?? 0) - offset)
    if rest >= JournalledPart.largeBody { try await releaseMemory() }
    if !isRepeatable, offset == 0, rest <= JournalledPart.largestHeld {
      held = ByteBuffer()
    } else {
      try await untilTaken { writer = try await makeWriter(rest) }
    }
  }

  /// Before the first bytes, so that they do not come on top of it. Once a try, of however many parts.
  private func releaseMemory() async throws {
    guard !hasReleasedMemory, let release = runner.releasesMemory else { return }
    hasReleasedMemory = true
    try await onDisk { release() }
  }

  func write(_ bytes: ByteBuffer) async throws {
    loop.assertInEventLoop()
    guard writer != nil || held != nil else {
      throw ErrorMapping.make(.cannotWriteToFile, because: "No body was announced.")
    }
    // Time that the disk takes is no idle time of the network.
    try await control.whileClientHoldsLoad {
      if held == nil { try await writer?.write(bytes) } else { try await hold(bytes) }
      try await pacing?.hold(after: bytes.readableBytes)
    }
    if let total = representation.total, runner.isArmed(.midBody), received * 2 >= total {
      try await writer?.flush()
      runner.failpoint(.midBody)
    }
  }

  /// First in the queue, then on the disk, so that no crash in between makes the queue count bytes that are not there.
  func reset() async throws {
    loop.assertInEventLoop()
    let hasBytes = received > 0 || response != nil
    await close()
    offset = 0
    response = nil
    representation = DownloadRepresentation(validator: nil, total: nil)
    guard hasBytes else { return }
    let (runner, id) = (self.runner, self.id)
    try await onDisk { try runner.store.resetProgress(of: id) }
    try await control.whileClientHoldsLoad { try await runner.journals?.forgetBytes(of: id) }
    try await onDisk {
      let file = try runner.files.disk.open(runner.files.partial(id))
      defer { try? file.close() }
      try file.truncate(to: 0)
    }
  }

  /// Everything that the events of a complete file need is committed, then the file gets its complete name. For a small file
  /// that came at once and can be asked for again, the commit of its end is enough: a service that dies before that loads it
  /// again.
  func finish() async throws {
    loop.assertInEventLoop()
    let count = received
    representation.total = count
    guard let stored = storedRepresentation else {
      throw ErrorMapping.make(.badServerResponse, because: "There was no response.")
    }
    // An answer that waits for the storage keeps its place among those that run: else any number of them would wait in memory.
    if held == nil { arrived() }
    let (runner, id) = (self.runner, self.id)
    let giveName: @Sendable () throws -> Void = {
      let files = runner.files
      runner.failpoint(.afterLastByteBeforeRename)
      try runner.clearCompleteName(of: id)
      try files.disk.rename(files.partial(id), to: files.complete(id))
      try files.disk.syncDirectory(files.completeDirectory)
      runner.failpoint(.afterRenameBeforeEvent)
    }
    if held != nil {
      try await untilTaken {
        try await writeHeld()
        try await commitWhole(count, as: stored)
        await control.whileClientHoldsLoad { await runner.journals?.kept(id, complete: count) }
        try await onDisk(giveName)
      }
      held = nil
    } else if let writer, isCheaplyRepeated, writer.isUncounted, count <= JournalledPart.largestUncounted {
      // On the disk, but in the queue with its end only.
      try await control.whileClientHoldsLoad { try await writer.end(giveName) }
      await close()
    } else {
      try await commitWhole(count, as: stored)
      await control.whileClientHoldsLoad { await runner.journals?.kept(id, complete: count) }
      try await onDisk(giveName)
    }
    offset = count
  }

  /// Has all bytes on the disk, and commits that they are.
  private func commitWhole(_ count: Int64, as stored: TransferStore.Representation) async throws {
    let (runner, id) = (self.runner, self.id)
    if let writer {
      // One commit, of the bytes that are not committed yet and of the rest.
      try await control.whileClientHoldsLoad {
        try await writer.flush { offset, isFirst in
          if isFirst { try runner.files.disk.syncDirectory(runner.files.partialDirectory) }
          try runner.store.commit(offset: offset, representation: stored, of: id)
        }
      }
      await closeWriter()
    } else {
      try await onDisk {
        let files = runner.files
        // Also an empty body is a file.
        let file = try files.disk.open(files.partial(id))
        defer { try? file.close() }
        try file.truncate(to: count)
        try file.sync()
        try runner.store.commit(offset: count, representation: stored, of: id)
      }
    }
  }

  func sha256() async throws -> Data {
    loop.assertInEventLoop()
    if let held { return held.withUnsafeReadableBytes { Data(SHA256.hash(data: $0)) } }
    try await endWriting()
    let (path, end) = (runner.files.partial(id), offset)
    var digest = StreamedDigest()
    while digest.count < end {
      let before = digest
      digest = try await onDisk {
        do { return try before.addingSlice(ofFileAt: path, upTo: end) } catch let error as StreamedDigest.Failure {
          throw SystemError(error.code, "read", path: error.path)
        }
      }
      // A service that ends does not wait for the rest.
      try control.check()
    }
    return digest.value
  }

  func salvage() async -> Int64 {
    loop.assertInEventLoop()
    guard writer != nil || heldCount ?? 0 > 0 else { return offset }
    do {
      try await writeHeld()
      try await writer?.flush()
    } catch {
      // The failure at hand says more than that the last bytes are lost with it; they are asked for again.
      runner.log.debug("transfer \(id): the last bytes were not kept: \(error)")
    }
    await close()
    let (runner, id) = (self.runner, self.id)
    if let journals = runner.journals, offset > 0 { await journals.kept(id) }
    return offset
  }

  /// The transfer's row and file are the engine's to remove.
  func abandon() async { await close() }

  /// Waits for what is under way. Bytes that were not flushed are lost.
  func close() async {
    loop.assertInEventLoop()
    held = nil
    await closeWriter()
  }

  private func closeWriter() async {
    runner.releaseSpace(of: id)
    guard let writer else { return }
    self.writer = nil
    await writer.close()
    offset = writer.committed
  }

  /// Has what has arrived outlive a machine that fails.
  ///
  /// - Parameter ended: called once, on the loop: when it does, or can't.
  func commitSoon(_ ended: @escaping () -> Void) {
    loop.assertInEventLoop()
    guard let writer else { return ended() }
    writer.commitSoon(ended)
  }

  private func endWriting() async throws {
    guard let writer else { return }
    try await writer.flush()
    await closeWriter()
  }

  // MARK: Answers in memory

  private var heldCount: Int64? { held.map { Int64($0.readableBytes) } }

  private func hold(_ bytes: ByteBuffer) async throws {
    // Copied: the buffers that bytes arrive in are larger than what is in them.
    held?.writeImmutableBuffer(bytes)
    guard received > JournalledPart.largestHeld else { return }
    try await untilTaken {
      try await writeHeld()
      try await writer?.flush()
    }
    held = nil
  }

  /// Begins the file with what is in memory, where there is anything, whatever was written of it before.
  private func writeHeld() async throws {
    guard let held else { return }
    await closeWriter()
    offset = 0
    let writer = try await makeWriter(max(representation.total ?? 0, Int64(held.readableBytes)))
    self.writer = writer
    if held.readableBytes > 0 { try await control.whileClientHoldsLoad { try await writer.write(held) } }
  }

  /// Does the work again, where the request is not repeated, until the storage takes the answer. Ends with the load's error when
  /// that is aborted.
  private func untilTaken(_ work: () async throws -> Void) async throws {
    var pause: TimeInterval = 0.1
    while true {
      do { return try await work() } catch {
        guard !isRepeatable, StorageFault.mayPass(error, in: runner.files.directory) else { throw error }
        runner.log.warning("the answer to transfer \(id) waits for the storage: \(error)")
        tellOfFault(error)
      }
      try await control.whileClientHoldsLoad { try await control.sleep(pause) }
      pause = min(pause * 2, 5)
    }
  }

  /// A disk that is full, or a machine that is short of something, holds no other transfer up.
  private func tellOfFault(_ error: any Error) {
    if let error = error as? SystemError, error.isNoSpace { return }
    if let sentence = StorageFault.sentence(of: error, in: runner.files.directory) { awaitsStorage(sentence) }
  }

  /// - Parameter needed: how many bytes are still to come; 0 where that is not known.
  private func makeWriter(_ needed: Int64) async throws -> PartialFileWriter {
    let (runner, id, stored, total) = (self.runner, self.id, storedRepresentation, representation.total)
    let file = try await onDisk {
      if needed > 0 { try runner.claimSpace(needed, for: id) }
      return try runner.files.disk.open(runner.files.partial(id))
    }
    return PartialFileWriter(file: file, offset: offset, pool: runner.pool, loop: loop) { offset, isFirst in
      // The file may be new, and is found after a power failure only if its name is on the disk as well.
      if isFirst { try runner.files.disk.syncDirectory(runner.files.partialDirectory) }
      try runner.store.commit(offset: offset, representation: isFirst ? stored : nil, of: id)
      if isFirst { runner.journals?.keep(id) }
      if let total { runner.wrote(id, rest: total - offset) }
    }
  }

  private var storedRepresentation: TransferStore.Representation? {
    response.map {
      .init(response: $0, validator: representation.validator, expectedTotal: representation.total ?? -1)
    }
  }

  private func onDisk<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    loop.assertInEventLoop()
    return try await control.whileClientHoldsLoad { try await loop.blocking(on: runner.pool, work) }
  }
}

extension DownloadRunner {
  /// Sets aside a thing that is no file and has the name that the whole file is to get.
  fileprivate func clearCompleteName(of id: TransferID) throws {
    guard let folder = try files.setAsideUnlessFile(id, in: TransferFiles.completeName) else { return }
    log.error("what had the name of the complete file of transfer \(id) was no file, and is in \(folder)")
  }
}
