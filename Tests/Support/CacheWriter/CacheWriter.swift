import Foundation
import URLLoadingSystem

/// `cache-writer FOLDER` stores and finds responses in a cache until it is killed. `cache-writer FOLDER check` finds each
/// once. A response that is not what was stored ends the program with 3.
@main
enum CacheWriter {
  private static let lengths = [0, 10, 5_000, 16_384, 16_385, 70_000, 140_000]
  private static let numbers = 0..<40

  static func main() {
    let folder = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? ".")
    let cache = URLCache(memoryCapacity: 0, diskCapacity: 3_000_000, directory: folder)
    guard CommandLine.arguments.last != "check" else {
      for number in numbers where isRight(number, in: cache) == false { exit(3) }
      return
    }
    while true {
      let number = Int.random(in: numbers)
      if Bool.random() { store(number, in: cache) }
      if isRight(number, in: cache) == false { exit(3) }
    }
  }

  /// The body that the number, the version and the length make.
  private static func body(_ number: Int, _ version: Int, _ length: Int) -> Data {
    Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &* 7 &+ version) })
  }

  private static func request(_ number: Int) -> URLRequest? {
    URL(string: "https://example.com/\(number)").map { URLRequest(url: $0) }
  }

  /// nil for a miss.
  private static func isRight(_ number: Int, in cache: URLCache) -> Bool? {
    guard let request = request(number), let found = cache.cachedResponse(for: request) else { return nil }
    guard let response = found.response as? HTTPURLResponse,
      let version = response.value(forHTTPHeaderField: "Version").flatMap({ Int($0) }),
      let length = response.value(forHTTPHeaderField: "Length").flatMap({ Int($0) })
    else { return false }
    return found.data == body(number, version, length)
  }

  private static func store(_ number: Int, in cache: URLCache) {
    let (version, length) = (Int.random(in: 0..<256), lengths.randomElement() ?? 0)
    guard let request = request(number), let url = request.url,
      let response = HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: nil,
        headerFields: ["Version": String(version), "Length": String(length)])
    else { return }
    cache.storeCachedResponse(CachedURLResponse(response: response, data: body(number, version, length)), for: request)
  }
}
