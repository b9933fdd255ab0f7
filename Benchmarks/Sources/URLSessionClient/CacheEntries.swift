#if OURS
import Foundation
import FoundationNetworking
import Harness

/// A cache on disk that is filled, in turn with a smaller one, and then asked for responses that it has. Nothing is
/// kept in memory.
struct CacheEntries {
  private let assignment: Assignment
  private let large: URLCache
  private let small: URLCache
  private let body: Data

  /// So many responses are stored before the disk is waited for.
  private static let batch = 1_000
  /// One response of the smaller cache for so many of the larger one.
  private static let share = 10

  init(_ assignment: Assignment) {
    self.assignment = assignment
    large = CacheEntries.cache("large", in: assignment.directory)
    small = CacheEntries.cache("small", in: assignment.directory)
    body = Data(repeating: 1, count: assignment.bytes)
  }

  func run() async throws {
    let few = assignment.count / CacheEntries.share
    var (timeOfLarge, timeOfSmall) = (Duration.zero, Duration.zero)
    for batch in 0..<assignment.count / CacheEntries.batch {
      timeOfLarge += store(batch, in: large)
      if batch % CacheEntries.share == 0 { timeOfSmall += store(batch / CacheEntries.share, in: small) }
    }
    let find = TimedCall("find") {
      large.cachedResponse(for: CacheEntries.request(.random(in: 0..<assignment.count)))
    } check: {
      check($0)
    }
    let findAmongFew = TimedCall("find in a tenth") {
      small.cachedResponse(for: CacheEntries.request(.random(in: 0..<few)))
    } check: {
      check($0)
    }
    try await reportTimes(
      of: [find, findAmongFew],
      with: [
        "store": timeOfLarge.inMicroseconds / Double(assignment.count),
        "store in a tenth": timeOfSmall.inMicroseconds / Double(few),
      ], assignment)
  }

  /// Stores so many responses as a batch has, and waits until they are on the disk.
  private func store(_ batch: Int, in cache: URLCache) -> Duration {
    let numbers = batch * CacheEntries.batch..<(batch + 1) * CacheEntries.batch
    let entries = numbers.map { number in
      let request = CacheEntries.request(number)
      return (request, CachedURLResponse(response: response(to: request), data: body))
    }
    return ContinuousClock().measure {
      for (request, response) in entries { cache.storeCachedResponse(response, for: request) }
      // The disk does one thing after the other: the last response is found when all are there.
      check(cache.cachedResponse(for: CacheEntries.request(numbers.upperBound - 1)))
    }
  }

  private func response(to request: URLRequest) -> HTTPURLResponse {
    guard let url = request.url,
      let response = HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: "HTTP/1.1",
        headerFields: [
          "Cache-Control": "max-age=86400", "Content-Type": "application/octet-stream",
          "Content-Length": "\(assignment.bytes)",
        ])
    else { fail("no response to \(request)") }
    return response
  }

  private func check(_ cached: CachedURLResponse?) {
    verify(cached?.response, bytes: cached?.data.count ?? 0, expected: assignment.bytes)
  }

  private static func request(_ number: Int) -> URLRequest {
    guard let url = URL(string: "http://www.site.example/resources/\(number)") else { fail("no URL") }
    return URLRequest(url: url)
  }

  private static func cache(_ name: String, in directory: URL) -> URLCache {
    URLCache(
      memoryCapacity: 0, diskCapacity: 1 << 30,
      directory: directory.appendingPathComponent("cache-\(name)", isDirectory: true))
  }
}
#endif
