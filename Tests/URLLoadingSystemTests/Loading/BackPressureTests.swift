import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

@Suite struct BackPressureTests {
  /// A delegate that takes its time slows the server down: what is on its way stays bounded.
  @Test(.overHTTP1To3) func aSlowDelegateSlowsTheSocket() async throws {
    let count: Int64 = 96 << 20
    let file = FileResource(size: count)
    try await withServer({ file.reply(to: $0) }) { server in
      let gate = Gate()
      let delegate = SlowDelegate(gate: gate)
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      session.dataTask(with: server.url()).resume()
      try await delegate.firstBytes.wait(within: patience)
      try await stopsMoving { file.bytesSent }
      // The delegate's queue, the connection's read-ahead and both sockets' buffers.
      #expect(file.bytesSent < 32 << 20)
      gate.open()
      try await delegate.done.wait(within: patience)
      #expect(delegate.received.load(ordering: .relaxed) == count)
      session.invalidateAndCancel()
    }
  }

  @Test(.overHTTP1To3) func anIteratorThatIsNotAskedReadsNothing() async throws {
    let count: Int64 = 256 << 20
    let file = FileResource(size: count)
    try await withServer({ file.reply(to: $0) }) { server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      var iterator = bytes.makeAsyncIterator()
      _ = try await iterator.next()
      try await stopsMoving { file.bytesSent }
      #expect(file.bytesSent < 32 << 20)
      session.invalidateAndCancel()
    }
  }

  /// A download that its app suspends leaves the rest with the server: what is between the server and the file is bounded.
  @Test(.overHTTP1To3) func aSuspendedDownloadSlowsTheSocket() async throws {
    let count: Int64 = 96 << 20
    let file = FileResource(size: count)
    // Without the pause all could be here before the delegate runs.
    let half = Gate()
    file.update { $0.pause = (count / 2, half) }
    try await withServer({ file.reply(to: $0) }) { server in
      let delegate = SuspendingDelegate()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      let task = session.downloadTask(with: server.url())
      task.resume()
      try await delegate.suspended.wait(within: patience)
      half.open()
      try await stopsMoving { file.bytesSent }
      // The connection's read-ahead, the batches on their way to the disk, and both sockets' buffers.
      #expect(file.bytesSent - task.countOfBytesReceived < 24 << 20)
      #expect(file.bytesSent < count)
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.size.load(ordering: .relaxed) == count)
      session.invalidateAndCancel()
    }
  }

  private func stopsMoving(_ value: () -> Int64) async throws {
    let clock = ContinuousClock()
    var last = value()
    var since = clock.now
    try await eventually("the bytes to stop") {
      if value() != last {
        last = value()
        since = clock.now
      }
      return clock.now - since > .milliseconds(300)
    }
  }
}

private final class SlowDelegate: NSObject, URLSessionDataDelegate, Sendable {
  let gate: Gate
  let firstBytes = Gate()
  let done = Gate()
  let received = Atomic<Int64>(0)

  init(gate: Gate) { self.gate = gate }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    received.add(Int64(data.count), ordering: .relaxed)
    firstBytes.open()
    let opened = DispatchSemaphore(value: 0)
    Task {
      try? await gate.wait()
      opened.signal()
    }
    opened.wait()
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) { done.open() }
}

/// Suspends its download when the first bytes are written.
private final class SuspendingDelegate: NSObject, URLSessionDownloadDelegate, Sendable {
  let suspended = Gate()
  let done = Gate()
  let size = Atomic<Int64>(-1)

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    guard !suspended.isOpen else { return }
    downloadTask.suspend()
    suspended.open()
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    let attributes = try? FileManager.default.attributesOfItem(atPath: location.path)
    size.store((attributes?[.size] as? NSNumber)?.int64Value ?? -1, ordering: .relaxed)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) { done.open() }
}
