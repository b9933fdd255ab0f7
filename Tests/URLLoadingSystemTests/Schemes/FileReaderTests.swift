import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import NIOPosix
import SystemServices
import Testing

@testable import URLLoadingSystem

@Suite struct FileReaderTests {
  /// Whether the system tells which bytes of temporary files are in memory.
  private static let tellsCachedBytes: Bool = {
    let path = NSTemporaryDirectory() + "cached-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    guard (try? Data(count: 16).write(to: URL(fileURLWithPath: path))) != nil, let file = try? SourceFile.open(path)
    else { return false }
    return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) {
      CachedBytes.read(file.descriptor, into: $0, at: 0) == .read(16)
    }
  }()

  /// The threads of the pool have ended when the bytes are read.
  @Test(.enabled(if: tellsCachedBytes)) func bytesInMemoryAreReadWithoutAThread() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("read-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let count = 1_000_000
    try BytePattern().write(toFile: file.path, count: Int64(count))
    let executor = try #require(LoopExecutor.all.first)
    let read = try await Task(executorPreference: executor) {
      let pool = NIOThreadPool(numberOfThreads: 1)
      pool.start()
      let reader = try await FileReader.open(file, readsCachedBytes: true, loop: executor.loop, pool: pool)
      try await pool.shutdownGracefully()
      var data = Data()
      while let bytes = try await reader.next() { data.append(contentsOf: bytes.readableBytesView) }
      return data
    }.value
    #expect(read.count == count && BytePattern().matches(read))
  }

  /// The file of the process's memory has no byte at its start that can be read.
  @Test(arguments: [("/proc/self/mem", EIO), ("/proc/self/nothing", ENOENT)])
  func anErrorHasThatOfTheSystemUnderIt(path: String, code: Int32) async throws {
    let executor = try #require(LoopExecutor.all.first)
    let error = await Task(executorPreference: executor) { () -> URLError? in
      do {
        _ = try await FileReader.open(URL(fileURLWithPath: path), loop: executor.loop)
        return nil
      } catch { return error as? URLError }
    }.value
    let cause = try #require(error?.userInfo[NSUnderlyingErrorKey] as? NSError)
    #expect(cause.domain == NSPOSIXErrorDomain && cause.code == Int(code))
  }
}
