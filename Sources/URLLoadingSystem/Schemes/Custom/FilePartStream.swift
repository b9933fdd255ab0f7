import Foundation
import Glibc

/// A part of a file as a stream. Nothing but a regular file is opened, so that opening never waits.
final class FilePartStream: InputStream {
  private let url: URL
  private var offset: Int64
  /// The offset at which the part ends; `.max`: with the file.
  private let end: Int64
  private var descriptor: CInt = -1
  private var status = Stream.Status.notOpen
  private var failure: URLError?

  init(_ url: URL, _ range: BodyRange) {
    self.url = url
    offset = max(range.start, 0)
    let start = offset
    end = range.count.map { $0 > .max - start ? .max : $0 + start } ?? .max
    super.init(data: Data())
  }

  deinit { if descriptor >= 0 { _ = Glibc.close(descriptor) } }

  override var streamStatus: Stream.Status { status }
  override var streamError: (any Error)? { failure }
  override var hasBytesAvailable: Bool { status == .open }

  override func open() {
    guard status == .notOpen else { return }
    do {
      descriptor = try FileReader.openDescriptor(of: url)
      status = .open
    } catch { fail(error) }
  }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
    guard status == .open else { return status == .atEnd ? 0 : -1 }
    let wanted = min(count, Int(clamping: max(end - offset, 0)))
    var read = 0
    while wanted > 0 {
      read = pread(descriptor, buffer, wanted, off_t(offset))
      guard read < 0, errno == EINTR else { break }
    }
    guard read >= 0 else {
      fail(FileReader.failure(errno, url))
      return -1
    }
    if read == 0, count > 0 { status = .atEnd }
    offset += Int64(read)
    return read
  }

  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
  ) -> Bool { false }

  override func close() {
    if descriptor >= 0 { _ = Glibc.close(descriptor) }
    (descriptor, status) = (-1, .closed)
  }

  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }

  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

  private func fail(_ error: any Error) {
    (failure, status) = (error as? URLError ?? URLError(.cannotOpenFile), .error)
  }
}
