import Foundation
import Synchronization

@testable import URLLoadingSystem

/// A folder for caches, removed with the object.
final class TemporaryCache: Sendable {
  let folder: URL
  private let made = Mutex<[URLCache]>([])

  init() {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("cache-\(UUID().uuidString)")
  }

  deinit {
    // A write that comes later would make the folder again.
    waitForDisk()
    try? FileManager.default.removeItem(at: folder)
  }

  /// A cache as another process would make one in the same folder, after everything so far is on the disk.
  func cache(memory: Int = 0, disk: Int = 10_000_000) -> URLCache {
    waitForDisk()
    let cache = URLCache(memoryCapacity: memory, diskCapacity: disk, directory: folder)
    made.withLock { $0.append(cache) }
    return cache
  }

  func waitForDisk() {
    for cache in made.withLock({ $0 }) { cache.waitForDisk() }
  }

  func request(_ path: String) throws -> URLRequest {
    guard let url = URL(string: "https://example.com/\(path)") else { throw URLError(.badURL) }
    return URLRequest(url: url)
  }

  func response(_ data: Data, fields: [String: String] = [:]) throws -> CachedURLResponse {
    guard let url = URL(string: "https://example.com/"),
      let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields)
    else { throw URLError(.badURL) }
    return CachedURLResponse(response: response, data: data)
  }

  /// The names of the files with bodies.
  var bodies: [URL] {
    waitForDisk()
    let folder = folder.appendingPathComponent(DiskCache.bodiesName)
    return (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
  }

  var index: URL {
    waitForDisk()
    return folder.appendingPathComponent(DiskCache.indexName)
  }
}
