import Foundation
import GRDB
import HTTPSemantics
import NIOCore

/// The cache that an app of this user keeps in its default folder, for a person who looks at it.
package struct KeptResponses: Sendable {
  /// The name of the app's folder.
  package let app: String
  private let disk: DiskCache

  /// A stored response.
  package struct Entry: Sendable {
    package let url: String
    package let status: Int
    /// Bytes of the body, as it came.
    package let size: Int64
    package let stored: Date
    /// Whether it answers requests without a question to its server.
    package let isFresh: Bool
    package let fields: HTTPFields
  }

  /// The caches of all apps, by their names.
  package static func all(in folder: String = URLCache.appsDirectory) -> [KeptResponses] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().compactMap { name in
      let directory = "\(folder)/\(name)/\(URLCache.folderName)"
      guard FileManager.default.fileExists(atPath: "\(directory)/\(DiskCache.indexName)") else { return nil }
      return KeptResponses(app: name, disk: DiskCache(directory: directory, capacity: .max))
    }
  }

  /// The responses, the one that was used last first. Blocks.
  package func entries() -> [Entry] { disk.onQueue { disk.entries() } }

  /// Bytes on disk. Blocks.
  package var usage: Int { disk.onQueue { disk.usage() } }

  /// Removes the responses of a URL; all for nil. Blocks.
  package func clear(url: String?) {
    disk.onQueue {
      if let url { disk.remove(CacheKey(url)) } else { disk.remove(since: nil) }
    }
  }
}

extension DiskCache {
  fileprivate func entries() -> [KeptResponses.Entry] {
    let now = Int64(Date().timeIntervalSince1970)
    let entries = withDatabase(creates: false) { database in
      try database.inDatabase { database in
        try Row.fetchAll(database, sql: "SELECT record, size, stored FROM responses ORDER BY used DESC")
      }.compactMap { row -> KeptResponses.Entry? in
        guard let data = try? row.decode(Data.self, atIndex: 0), let size = try? row.decode(Int64.self, atIndex: 1),
          let stored = try? row.decode(Double.self, atIndex: 2), let head = CacheRecord(ByteBuffer(bytes: data))?.head
        else { return nil }
        let freshness = Freshness(head, CacheControl(head.head.fields), now: now)
        return KeptResponses.Entry(
          url: head.url, status: head.head.status, size: size, stored: Date(timeIntervalSince1970: stored),
          isFresh: freshness.isFresh, fields: head.head.fields)
      }
    }
    return entries ?? []
  }
}
