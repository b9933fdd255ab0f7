/// A partial file and the validators with which a download continues it.
package struct ResumePoint: Codable, Sendable, Equatable {
  /// A file with the bytes received so far. The service takes the file over.
  package var path: String
  package var offset: Int64
  package var url: String
  /// -1 when it is not known.
  package var expectedTotal: Int64
  package var entityTag: String?
  package var lastModified: String?
  /// The Date field of the response that the bytes came with.
  package var serverDate: String?

  package init(path: String, offset: Int64, url: String, expectedTotal: Int64 = -1) {
    self.path = path
    self.offset = offset
    self.url = url
    self.expectedTotal = expectedTotal
  }
}
