/// The service is ready for the open files of a request. The app answers with one byte that has all their descriptors with
/// it, in the order of the request, and with nothing else before it.
package struct FilesWanted: Codable, Sendable, Equatable {
  /// The number that the app gave the request.
  package var request: UInt64

  package init(request: UInt64) { self.request = request }
}
