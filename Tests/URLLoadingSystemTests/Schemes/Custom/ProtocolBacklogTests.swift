import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Protocols that give data faster than the app takes it.
@Suite struct ProtocolBacklogTests {
  private static let chunk = 64 * 1024
  private static let chunkCount = 4_800
  private static let total = chunk * chunkCount

  private static func byte(at offset: Int) -> UInt8 { UInt8(offset / chunk % 251) }

  /// Counts the body and looks at a sample of it, and suspends its task at the response.
  private final class Reader: NSObject, URLSessionDataDelegate {
    let isHeld = Gate()
    let done = Gate()
    let count = Mutex(0)
    let isRight = Mutex(true)
    let error = Mutex<(any Error)?>(nil)

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
      dataTask.suspend()
      isHeld.open()
      return .allow
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      let start = count.withLock { count in
        defer { count += data.count }
        return count
      }
      let step = 1_024
      for offset in stride(from: (step - start % step) % step, to: data.count, by: step)
      where data[data.startIndex + offset] != ProtocolBacklogTests.byte(at: start + offset) {
        isRight.withLock { $0 = false }
      }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      self.error.withLock { $0 = error }
      done.open()
    }
  }

  private static func push(_ object: ScriptedProtocol, _ highest: Recorder<Int>) {
    object.respond()
    var most = 0
    for number in 0..<chunkCount {
      object.client?.urlProtocol(object, didLoad: Data(repeating: byte(at: number * chunk), count: chunk))
      most = max(most, (object.client as? ProtocolLoad)?.bytesInMemory ?? .max)
    }
    object.finish()
    highest.record(most)
  }

  /// 300 MB without a reader: the protocol is not held up, memory has its limit, and everything comes in the end.
  @Test func whatTheAppDoesNotTakeGoesToAFile() async throws {
    let highest = Recorder<Int>()
    let script = ProtocolScript { Self.push($0, highest) }
    let reader = Reader()
    let session = script.session(reader)
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try script.url())
    task.resume()
    try await reader.isHeld.wait(within: patience)
    let most = try await highest.next()
    #expect(most > ClientCalls.mostInMemory / 2 && most <= ClientCalls.mostInMemory)
    #expect(reader.count.withLock { $0 } < Self.total / 2)
    task.resume()
    try await reader.done.wait(within: .seconds(120))
    #expect(reader.error.withLock { $0 } == nil)
    #expect(reader.count.withLock { $0 } == Self.total && reader.isRight.withLock { $0 })
  }

  /// The load's end frees the file, whoever keeps the protocol's object.
  @Test func aCancelledLoadLeavesNothing() async throws {
    let highest = Recorder<Int>()
    let objects = Recorder<ScriptedProtocol>()
    let script = ProtocolScript { object in
      objects.record(object)
      Self.push(object, highest)
    }
    let reader = Reader()
    let session = script.session(reader)
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try script.url())
    task.resume()
    try await reader.isHeld.wait(within: patience)
    _ = try await highest.next()
    task.cancel()
    try await reader.done.wait(within: patience)
    let client = objects.all.first?.client as? ProtocolLoad
    try await eventually("the memory to be free") { client?.bytesInMemory ?? 0 == 0 }
    #expect((reader.error.withLock { $0 } as? URLError)?.code == .cancelled)
  }

  /// One object that is larger than the room in memory, in the forms that gather it.
  @Test func oneLargeChunkIsDeliveredWhole() async throws {
    let data = Data((0..<40).flatMap { Array(repeating: UInt8($0), count: 1 << 20) })
    let script = ProtocolScript { object in
      object.respond()
      object.client?.urlProtocol(object, didLoad: data)
      object.finish()
    }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let (body, _) = try await session.data(from: script.url())
    #expect(body == data)
    let (file, _) = try await session.download(from: script.url())
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(try Data(contentsOf: file) == data)
  }

  /// A failure behind data that waits in the file comes after it.
  @Test func theEndComesAfterTheData() async throws {
    let script = ProtocolScript { object in
      object.respond()
      for _ in 0..<40 { object.client?.urlProtocol(object, didLoad: Data(count: 1 << 20)) }
      object.fail(URLError(.networkConnectionLost))
    }
    let reader = Reader()
    let session = script.session(reader)
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try script.url())
    task.resume()
    try await reader.isHeld.wait(within: patience)
    task.resume()
    try await reader.done.wait(within: patience)
    #expect((reader.error.withLock { $0 } as? URLError)?.code == .networkConnectionLost)
    #expect(reader.count.withLock { $0 } == 40 << 20)
  }
}
