import Foundation
import URLLoadingSystem

/// A stored response, as `urlsession cache list` says it.
struct CacheLine: Encodable, Sendable {
  var app: String
  var url: String
  var status: Int
  var size: Int64
  var stored: Date
  var isFresh: Bool

  init(_ entry: KeptResponses.Entry, of app: String) {
    self.app = app
    url = entry.url
    status = entry.status
    size = entry.size
    stored = entry.stored
    isFresh = entry.isFresh
  }
}
