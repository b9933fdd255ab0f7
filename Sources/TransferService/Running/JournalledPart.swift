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
    isCheaplyRepeated =
      job.kind != .upload && job.committedOffset == 0 && HTTPMethod.isIdempotent(job.request.method.uppercased())
  }

  var received: Int64 {
    loop.assertInEventLoop()
    return writer?.received ?? offset
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

  /// Before a server is asked: an earlier try found out how much is needed.
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
    writer = try await makeWriter(rest)
  }

  /// Before the first bytes, so that they do not come on top of it. Once a try, of however many parts.
  private func releaseMemory() async throws {
    guard !hasReleasedMemory, let release = runner.releasesMemory else { return }
    hasReleasedMemory = true
    try await onDisk { release() }
  }

  func write(_ bytes: ByteBuffer) async throws {
    loop.assertInEventLoop()
    guard let writer else { throw ErrorMapping.make(.cannotWriteToFile, because: "No body was announced.") }
    // Time that the disk takes is no idle time of the network.
    try await control.whileClientHoldsLoad {
      try await writer.write(bytes)
      try await pacing?.hold(after: bytes.readableBytes)
    }
    if let total = representation.total, runner.isArmed(.midBody), writer.received * 2 >= total {
      try await writer.flush()
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
    arrived()
    let (runner, id) = (self.runner, self.id)
    let giveName: @Sendable () throws -> Void = {
      let files = runner.files
      runner.failpoint(.afterLastByteBeforeRename)
      try runner.clearCompleteName(of: id)
      try files.disk.rename(files.partial(id), to: files.complete(id))
      try files.disk.syncDirectory(files.completeDirectory)
      runner.failpoint(.afterRenameBeforeEvent)
    }
    if let writer, isCheaplyRepeated, writer.isUncounted, count <= JournalledPart.largestUncounted {
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
      await close()
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
    guard let writer else { return offset }
    do {
      try await writer.flush()
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
    await close()
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
