import Foundation
import Glibc
import HTTPTransport
import LoopbackServer
import NIOCore
import Testing

@testable import URLLoadingSystem

@Suite struct StreamReaderTests {
  private func read(_ stream: InputStream) async throws -> Result<[UInt8], any Error> {
    let executor = try #require(LoopExecutor.all.first)
    let results = Recorder<Result<[UInt8], any Error>>()
    let source = SendableInputStream(stream)
    Task(executorPreference: executor) {
      let reader = StreamReader(source, loop: executor.loop)
      var all: [UInt8] = []
      do {
        while let bytes = try await reader.next() { all += Array(bytes.readableBytesView) }
        results.record(.success(all))
      } catch { results.record(.failure(error)) }
    }
    return try await results.next()
  }

  @Test func readsToTheEnd() async throws {
    let content = [UInt8](BytePattern().bytes(count: 300_000))
    #expect(try await read(InputStream(data: Data(content))).get() == content)
  }

  /// It can't be read, and has no error that says why.
  @Test func aStreamThatWasClosedIsAnError() async throws {
    let stream = InputStream(data: Data("x".utf8))
    stream.open()
    stream.close()
    let result = try await read(stream)
    let error = #expect(throws: URLError.self) { try result.get() }
    #expect(error?.code == .requestBodyStreamExhausted)
  }

  @Test func aFileThatDoesNotExistIsAnError() async throws {
    let stream = try #require(InputStream(fileAtPath: "/no/such/file"))
    let result = try await read(stream)
    let error = #expect(throws: URLError.self) { try result.get() }
    #expect(error?.code == .requestBodyStreamExhausted)
  }

  /// A `close` of the app's may block.
  @Test func theStreamIsNotClosedOnTheLoop() async throws {
    let executor = try #require(LoopExecutor.all.first)
    let closings = Recorder<Bool>()
    let source = SendableInputStream(ClosingStream(closings))
    executor.loop.execute { _ = StreamReader(source, loop: executor.loop) }
    #expect(try await closings.next() == false)
  }

  enum Waiting: CaseIterable, Sendable {
    case ofTheApp
    case captured
  }

  /// An upload that was cancelled gives its thread back, although no byte ever comes.
  @Test(arguments: Waiting.allCases) func closingEndsAReadThatWaits(_ kind: Waiting) async throws {
    var sockets: [CInt] = [-1, -1]
    #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &sockets) == 0)
    defer { Glibc.close(sockets[1]) }
    let source =
      switch kind {
      case .ofTheApp: SendableInputStream(WaitingStream(reading: sockets[0]))
      case .captured: SendableInputStream(CapturedInputStream(CapturedSocket(sockets[0], onRelease: {})))
      }
    let executor = try #require(LoopExecutor.all.first)
    try await within(patience, "the read to end") {
      await Task(executorPreference: executor) {
        let reader = StreamReader(source, loop: executor.loop, patience: .milliseconds(1))
        let bound = NIOLoopBound(reader, eventLoop: executor.loop)
        Task(executorPreference: executor) {
          try? await eventually("the stream to be open") { source.stream.streamStatus == .open }
          bound.value.close()
        }
        let bytes = try? await reader.next()
        #expect(bytes == nil)
        let rest = try? await reader.next()
        #expect(rest == nil)
      }.value
    }
  }
}
