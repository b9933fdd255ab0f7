import Foundation
import Glibc
import HTTPSemantics
import NIOCore
import NIOPosix
import SystemServices

/// Reads a regular file, or what is read like one, front to back on a thread of the pool. Confined to its loop, except for the reads themselves,
/// of which at most one runs.
///
/// Bytes of a request's body that the kernel has in memory are read on the loop: to wake a thread takes longer than to copy them, and
/// the loop sends them from the cache of its own processor.
///
/// Nothing but a regular file is opened: to open a named pipe or a device waits, or does something to it.
final class FileReader: BodyReader {
  /// nil for files that have bytes and no size, as those of `/proc`.
  let length: Int64?
  /// Only of a file that was opened for it.
  let mediaType: String?
  private let loop: any EventLoop
  private let pool: NIOThreadPool
  private let source: Source
  private var offset: Int64 = 0
  /// The offset at which reading ends; nil: the end of the file.
  private var end: Int64?

  /// Whether bytes in the kernel's memory are read on the loop. The caller then has to let the loop look at its sockets now and then.
  private var readsCachedBytes: Bool

  private static let pieceSize = 256 * 1024
  /// Little enough to be sent from the processor's cache.
  private static let cachedPieceSize = 128 * 1024

  /// An open file. Closed when the last read that uses it is over.
  private final class Descriptor: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { _ = Glibc.close(number) }

    /// How many bytes were read into `space`, or the number of the system's error.
    func read(into space: UnsafeMutableRawBufferPointer, at offset: Int64) -> Result<Int, ReadFailure> {
      while true {
        let count = pread(number, space.baseAddress, space.count, off_t(offset))
        if count >= 0 { return .success(count) }
        let number = errno
        guard number == EINTR else { return .failure(ReadFailure(number: number)) }
      }
    }

    /// The first bytes of the file, or the number of the system's error.
    func beginning(_ count: Int) -> Result<[UInt8], ReadFailure> {
      var bytes = [UInt8](repeating: 0, count: count)
      let read = bytes.withUnsafeMutableBytes { self.read(into: $0, at: 0) }
      return read.map { Array(bytes.prefix($0)) }
    }
  }

  private enum Source: Sendable {
    case file(Descriptor, URL)
    case content(any BodyContent)

    /// - Parameter isMeasured: Whether there have to be bytes.
    func read(into space: UnsafeMutableRawBufferPointer, at offset: Int64, isMeasured: Bool) throws -> Int {
      switch self {
      case .file(let descriptor, let url):
        let problem = "changed or became unreadable while it was read"
        switch descriptor.read(into: space, at: offset) {
        case .success(let count):
          guard count > 0 || !isMeasured else { throw fileError(.cannotOpenFile, url, problem) }
          return count
        case .failure(let failure): throw fileError(.cannotOpenFile, url, problem, errno: failure.number)
        }
      case .content(let content):
        let count = try content.read(into: space, at: offset)
        guard count > 0, count <= space.count else {
          throw ErrorMapping.make(.cannotOpenFile, because: "The body of the request ended before its length.")
        }
        return count
      }
    }
  }

  private struct ReadFailure: Error {
    let number: Int32
  }

  private struct Opened: Sendable {
    let descriptor: Descriptor
    let length: Int64?
    var mediaType: String?
  }

  private init(
    _ url: URL, _ opened: Opened, readsCachedBytes: Bool, loop: any EventLoop, pool: NIOThreadPool
  ) {
    self.readsCachedBytes = readsCachedBytes
    self.loop = loop
    self.pool = pool
    source = .file(opened.descriptor, url)
    length = opened.length
    mediaType = opened.mediaType
    end = length
  }

  /// - Parameters:
  ///   - findsMediaType: Whether the file's type is wanted: by its name, or else by its first bytes.
  ///   - readsCachedBytes: Whether bytes in the kernel's memory are read on the loop: of a caller that does not take piece after
  ///     piece without letting the loop look at its sockets.
  ///   - pool: the threads on which it is opened and read.
  static func open(
    _ url: URL, findsMediaType: Bool = false, readsCachedBytes: Bool = false, loop: any EventLoop,
    pool: NIOThreadPool = .singleton
  ) async throws -> FileReader {
    loop.assertInEventLoop()
    guard url.isFileURL else {
      throw fileError(.unsupportedURL, url, "is not the URL of a file")
    }
    let opened = try await loop.blocking(on: pool) {
      var file = try FileReader.opened(url)
      if findsMediaType { file.mediaType = mediaType(of: url, file.descriptor) }
      return file
    }
    return FileReader(url, opened, readsCachedBytes: readsCachedBytes, loop: loop, pool: pool)
  }

  private init(_ content: any BodyContent, loop: any EventLoop, pool: NIOThreadPool) {
    readsCachedBytes = false
    self.loop = loop
    self.pool = pool
    source = .content(content)
    length = content.length
    mediaType = nil
    end = length
  }

  /// - Returns: nil for a body that is not read in this way.
  static func open(_ body: RequestBody, in context: LoadContext) async throws -> FileReader? {
    let pool = context.bodyFilePool
    switch body {
    case .file(let url): return try await open(url, readsCachedBytes: true, loop: context.loop, pool: pool)
    case .content(let content): return FileReader(content, loop: context.loop, pool: pool)
    case .none, .data, .stream, .streamFromClient: return nil
    }
  }

  private static func mediaType(of url: URL, _ descriptor: Descriptor) -> String {
    if let type = FileMediaTypes.mediaType(ofFileNamed: url.lastPathComponent) { return type }
    let beginning = (try? descriptor.beginning(MIMESniffing.headerLength).get()) ?? []
    return beginning.isEmpty ? "application/octet-stream" : MIMESniffing.mediaType(of: beginning)
  }

  private static func opened(_ url: URL) throws -> Opened {
    let descriptor = Descriptor(try openDescriptor(of: url))
    var status = stat()
    guard fstat(descriptor.number, &status) == 0 else { throw failure(errno, url) }
    guard status.st_size == 0 else { return Opened(descriptor: descriptor, length: Int64(status.st_size)) }
    switch descriptor.beginning(1) {
    case .success(let bytes): return Opened(descriptor: descriptor, length: bytes.isEmpty ? 0 : nil)
    case .failure(let error): throw failure(error.number, url)
    }
  }

  /// Opens a regular file. Blocks for the file system, and for nothing else. The caller closes the descriptor.
  static func openDescriptor(of url: URL) throws -> CInt {
    guard let path = path(of: url) else { throw fileError(.badURL, url, "has a name that no file can have") }
    var status = stat()
    guard stat(path, &status) == 0 else { throw failure(errno, url) }
    try check(status, url)
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard number >= 0 else { throw failure(errno, url) }
    do {
      // It may be another one by now.
      guard fstat(number, &status) == 0 else { throw failure(errno, url) }
      try check(status, url)
    } catch {
      _ = Glibc.close(number)
      throw error
    }
    return number
  }

  /// Throws where something that is no regular file has the URL's name. Blocks.
  static func checkKind(of url: URL) throws {
    var status = stat()
    guard url.isFileURL, let path = path(of: url), stat(path, &status) == 0 else { return }
    try check(status, url)
  }

  private static func check(_ status: stat, _ url: URL) throws {
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw fileError(.fileIsDirectory, url, "is a directory")
    default: throw fileError(.cannotOpenFile, url, "is not a regular file")
    }
  }

  static func failure(_ number: Int32, _ url: URL) -> URLError {
    switch number {
    case EACCES, EPERM: fileError(.noPermissionsToReadFile, url, "may not be read", errno: number)
    case ENOENT, ENOTDIR: fileError(.fileDoesNotExist, url, "does not exist", errno: number)
    default: fileError(.cannotOpenFile, url, String(cString: strerror(number)), errno: number)
    }
  }

  /// The name as the system takes it, whose bytes need not be UTF-8; nil when it is empty or would end early.
  private static func path(of url: URL) -> [CChar]? {
    let bytes = percentDecoded(url.absoluteURL.path(percentEncoded: true).utf8) ?? []
    guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
    return bytes.map { CChar(bitPattern: $0) } + [0]
  }

  /// Reads only `range`, as far as the file goes. Returns how many bytes that is; nil where the length is not known.
  func restrict(to range: BodyRange) -> Int64? {
    loop.assertInEventLoop()
    guard let length else {
      offset = max(range.start, 0)
      let start = offset
      end = range.count.map { $0 > .max - start ? .max : $0 + start }
      return nil
    }
    offset = min(max(range.start, 0), length)
    let end = min(range.count ?? length, length - offset) + offset
    self.end = end
    return end - offset
  }

  func next() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    let count = Int(min(Int64(FileReader.pieceSize), end.map { $0 - offset } ?? .max))
    guard count > 0 else { return nil }
    if let bytes = cachedPiece(atMost: count) {
      offset += Int64(bytes.readableBytes)
      return bytes
    }
    let (start, source) = (offset, source)
    let isMeasured = length != nil
    let bytes = try await pool.runIfActive(eventLoop: loop) { () throws -> ByteBuffer in
      var buffer = ByteBufferAllocator().buffer(capacity: count)
      try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
        let space = UnsafeMutableRawBufferPointer(rebasing: space.prefix(count))
        return try source.read(into: space, at: start, isMeasured: isMeasured)
      }
      return buffer
    }.get()
    guard bytes.readableBytes > 0 else {
      end = offset
      return nil
    }
    offset += Int64(bytes.readableBytes)
    return bytes
  }

  /// The next bytes, where the kernel has them in memory; otherwise nil.
  private func cachedPiece(atMost count: Int) -> ByteBuffer? {
    guard readsCachedBytes, case .file(let descriptor, _) = source else { return nil }
    let count = min(count, FileReader.cachedPieceSize)
    var buffer = ByteBufferAllocator().buffer(capacity: count)
    let read = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
      let space = UnsafeMutableRawBufferPointer(rebasing: space.prefix(count))
      switch CachedBytes.read(descriptor.number, into: space, at: offset) {
      case .read(let count): return count
      case .wouldWait: return 0
      case .isNotOffered:
        readsCachedBytes = false
        return 0
      }
    }
    return read > 0 ? buffer : nil
  }

  func close() {
    loop.assertInEventLoop()
    end = offset
  }

  /// How many pieces are hashed before the reader can stop: some hundredths of a second of work.
  private static let piecesHashedAtOnce = 64

  /// Reads on, and hashes what comes on the thread that reads it.
  ///
  /// - Returns: `hasher` with some of the bytes; nil at the end.
  func hash(into hasher: DigestHasher) async throws -> DigestHasher? {
    loop.assertInEventLoop()
    let (start, end, source) = (offset, end, source)
    let isMeasured = length != nil
    let (hashed, read) = try await loop.blocking(on: pool) {
      var hasher = hasher
      var offset = start
      let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: FileReader.pieceSize, alignment: 16)
      defer { piece.deallocate() }
      for _ in 0..<FileReader.piecesHashedAtOnce {
        let wanted = Int(min(Int64(piece.count), end.map { $0 - offset } ?? .max))
        guard wanted > 0 else { break }
        let space = UnsafeMutableRawBufferPointer(rebasing: piece.prefix(wanted))
        let count = try source.read(into: space, at: offset, isMeasured: isMeasured)
        guard count > 0 else { break }
        hasher.update(UnsafeRawBufferPointer(rebasing: space.prefix(count)))
        offset += Int64(count)
      }
      return (hasher, offset - start)
    }
    offset += read
    return read > 0 ? hashed : nil
  }
}

/// - Parameter number: That of the system's error; nil where it had none.
private func fileError(_ code: URLError.Code, _ url: URL, _ what: String, errno number: Int32? = nil) -> URLError {
  let sentence = "The file \(url.path) \(what)."
  let error =
    number.map { ErrorMapping.make(code, because: sentence, errno: $0) } ?? ErrorMapping.make(code, because: sentence)
  return ErrorMapping.urlError(error, url: url)
}
