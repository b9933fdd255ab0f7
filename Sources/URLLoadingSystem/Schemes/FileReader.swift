import Foundation
import Glibc
import NIOCore
import NIOPosix

/// Reads a regular file front to back on a thread of the pool. Confined to its loop, except for the reads themselves,
/// of which at most one runs.
final class FileReader: BodyReader {
  let length: Int64
  private let loop: any EventLoop
  private let url: URL
  private let descriptor: Descriptor
  private var offset: Int64 = 0
  private var end: Int64

  private static let pieceSize = 256 * 1024

  /// An open file. Closed when the last read that uses it is over.
  private final class Descriptor: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { _ = Glibc.close(number) }
  }

  private struct Opened: Sendable {
    let descriptor: Descriptor
    let length: Int64
  }

  private init(_ url: URL, _ opened: Opened, loop: any EventLoop) {
    self.url = url
    self.loop = loop
    descriptor = opened.descriptor
    length = opened.length
    end = length
  }

  static func open(_ url: URL, loop: any EventLoop) async throws -> FileReader {
    loop.assertInEventLoop()
    guard url.isFileURL else {
      throw fileError(.unsupportedURL, url, "is not the URL of a file")
    }
    return FileReader(url, try await loop.blocking { try opened(url) }, loop: loop)
  }

  private static func opened(_ url: URL) throws -> Opened {
    let number = Glibc.open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else {
      switch errno {
      case EACCES, EPERM: throw fileError(.noPermissionsToReadFile, url, "may not be read")
      case ENOENT, ENOTDIR: throw fileError(.fileDoesNotExist, url, "does not exist")
      default: throw fileError(.cannotOpenFile, url, String(cString: strerror(errno)))
      }
    }
    let descriptor = Descriptor(number)
    var status = stat()
    guard fstat(number, &status) == 0 else { throw fileError(.cannotOpenFile, url, String(cString: strerror(errno))) }
    switch status.st_mode & S_IFMT {
    case S_IFREG:
      return Opened(
        descriptor: descriptor, length: Int64(status.st_size))
    case S_IFDIR: throw fileError(.fileIsDirectory, url, "is a directory")
    default: throw fileError(.cannotOpenFile, url, "is not a regular file")
    }
  }

  /// Reads only `range`, as far as the file goes. Returns how many bytes that is.
  func restrict(to range: BodyRange) -> Int64 {
    loop.assertInEventLoop()
    offset = min(max(range.start, 0), length)
    end = min(range.count ?? length, length - offset) + offset
    return end - offset
  }

  func next() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    guard offset < end else { return nil }
    let count = Int(min(Int64(FileReader.pieceSize), end - offset))
    let start = offset
    let descriptor = self.descriptor
    let url = self.url
    let bytes = try await NIOThreadPool.singleton.runIfActive(eventLoop: loop) { () throws -> ByteBuffer in
      var buffer = ByteBufferAllocator().buffer(capacity: count)
      let read = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
        max(0, pread(descriptor.number, space.baseAddress, count, off_t(start)))
      }
      guard read > 0 else { throw fileError(.cannotOpenFile, url, "changed or became unreadable while it was read") }
      return buffer
    }.get()
    offset += Int64(bytes.readableBytes)
    return bytes
  }

  func close() {
    loop.assertInEventLoop()
    offset = end
  }
}

private func fileError(_ code: URLError.Code, _ url: URL, _ what: String) -> URLError {
  ErrorMapping.urlError(ErrorMapping.make(code, because: "The file \(url.path) \(what)."), url: url)
}
