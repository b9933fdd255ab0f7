import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import Testing

@testable import URLLoadingSystem

@Suite struct FileSinkTests {
  private final class Client: LoadClient {}

  /// Runs `body` on the loop of a load that never starts.
  private func onLoop<Value: Sendable>(
    _ body: @escaping @Sendable (LoadContext) async throws -> Value
  ) async throws -> Value {
    let configuration = URLSessionConfiguration.loopback.loadConfiguration
    let transport = HTTPTransport(configuration: configuration.transport)
    defer { transport.shutDown() }
    let context = LoadContext(for: nil, configuration: configuration, transport: transport, client: Client())
    let results = Recorder<Result<Value, any Error>>()
    context.start { context in
      do { results.record(.success(try await body(context))) } catch { results.record(.failure(error)) }
      context.control.finish()
    }
    return try await results.next().get()
  }

  private static func piece(_ pattern: BytePattern, at offset: Int64, count: Int) -> ByteBuffer {
    ByteBuffer(bytes: pattern.bytes(at: offset, count: count))
  }

  /// Sizes of the pieces that a body of 3,000,000 bytes arrives in.
  @Test(arguments: [7_001, 65_536, 1_048_576, 3_000_000]) func writesPiecesInTheirPlaces(size: Int) async throws {
    let pattern = BytePattern()
    let path = try await onLoop { context in
      let file = try DownloadFile.create()
      let written = Recorder<[Int64]>()
      let sink = FileSink(file, at: 0, in: context) { written.record([$0, $1]) }
      while sink.received < 3_000_000 {
        let count = min(size, Int(3_000_000 - sink.received))
        try await sink.write(Self.piece(pattern, at: sink.received, count: count))
      }
      try await sink.finish()
      #expect(written.all.map { $0[0] }.reduce(0, +) == 3_000_000)
      #expect(written.all.last?[1] == 3_000_000)
      return file.url.path
    }
    #expect(pattern.difference(toFile: path, count: 3_000_000) == nil)
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func aResetFileBeginsAtZero() async throws {
    let pattern = BytePattern(seed: 2)
    let path = try await onLoop { context in
      let file = try DownloadFile.create()
      let sink = FileSink(file, at: 0, in: context)
      try await sink.write(Self.piece(BytePattern(), at: 0, count: 2_000_000))
      try await sink.reset()
      #expect(sink.received == 0)
      try await sink.write(Self.piece(pattern, at: 0, count: 1_500_000))
      try await sink.finish()
      return file.url.path
    }
    #expect(pattern.difference(toFile: path, count: 1_500_000) == nil)
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func salvageKeepsAllThatWasTakenOver() async throws {
    let pattern = BytePattern()
    let path = try await onLoop { context in
      let file = try DownloadFile.create()
      let sink = FileSink(file, at: 0, in: context)
      try await sink.write(Self.piece(pattern, at: 0, count: 1_100_000))
      try await sink.write(Self.piece(pattern, at: 1_100_000, count: 5))
      #expect(await sink.salvage() == 1_100_005)
      return file.url.path
    }
    #expect(pattern.difference(toFile: path, count: 1_100_005) == nil)
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func aFullDiskFailsTheWriteAndKeepsNothing() async throws {
    try await onLoop { context in
      let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
      let sink = FileSink(
        DownloadFile(descriptor: descriptor, url: URL(fileURLWithPath: "/dev/full")), at: 0, in: context)
      try await sink.write(ByteBuffer(repeating: 1, count: 10))
      do {
        try await sink.finish()
        Issue.record("the disk is not full")
      } catch { #expect((error as? URLError)?.code == .cannotWriteToFile) }
      #expect(await sink.salvage() == 0)
    }
  }

  @Test func anAbandonedFileIsRemoved() async throws {
    let path = try await onLoop { context in
      let file = try DownloadFile.create()
      let sink = FileSink(file, at: 0, in: context)
      try await sink.write(ByteBuffer(repeating: 1, count: 10))
      await sink.abandon()
      return file.url.path
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
