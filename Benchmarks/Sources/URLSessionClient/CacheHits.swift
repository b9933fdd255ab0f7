#if OURS
import Foundation
import FoundationNetworking
import Harness

/// One small response that the cache has, in turn with the same one from the server.
struct CacheHits {
  private let assignment: Assignment
  private let cached: URLSession
  private let uncached: URLSession

  /// The server gives each response another one. Equal ones: the response came from the cache.
  private static let serialField = "X-Serial"

  /// - Parameter memoryCapacity: 0 leaves every response on the disk.
  init(_ assignment: Assignment, memoryCapacity: Int) {
    self.assignment = assignment
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.urlCache = URLCache(
      memoryCapacity: memoryCapacity, diskCapacity: 20 << 20,
      directory: assignment.directory.appendingPathComponent("cache", isDirectory: true))
    cached = URLSession(configuration: configuration)
    uncached = .forMeasuring(assignment)
  }

  func run() async throws {
    let serial = try await storedSerial()
    let hit = TimedCall("hit") {
      try await cached.data(from: assignment.url)
    } check: { data, response in
      verify(response, bytes: data.count, expected: assignment.bytes)
      guard CacheHits.serial(of: response) == serial else { fail("the cache did not answer") }
    }
    let fetch = TimedCall("loopback fetch") {
      try await uncached.data(from: assignment.url)
    } check: { data, response in
      verify(response, bytes: data.count, expected: assignment.bytes)
      guard CacheHits.serial(of: response) != serial else { fail("a cache did answer") }
    }
    try await reportTimes(of: [hit, fetch], assignment)
  }

  /// Loads until two loads in a row bring the same response.
  private func storedSerial() async throws -> String {
    var last: String?
    for _ in 0..<1_000 {
      let (_, response) = try await cached.data(from: assignment.url)
      guard let serial = CacheHits.serial(of: response) else { fail("a response without \(CacheHits.serialField)") }
      if serial == last { return serial }
      last = serial
    }
    fail("the cache stores nothing")
  }

  private static func serial(of response: URLResponse) -> String? {
    (response as? HTTPURLResponse)?.value(forHTTPHeaderField: serialField)
  }
}
#endif
