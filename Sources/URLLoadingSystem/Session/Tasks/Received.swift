import Foundation

/// The result of a load.
enum Received: Sendable {
  case nothing
  case data(Data)
  case file(URL)

  /// The bytes in memory; empty when there are none.
  var data: Data { if case .data(let data) = self { data } else { Data() } }

  /// The temporary file; nil when there is none.
  var file: URL? { if case .file(let url) = self { url } else { nil } }
}
