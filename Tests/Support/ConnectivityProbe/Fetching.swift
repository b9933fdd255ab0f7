import Foundation
import URLLoadingSystem

/// `fetch URL COUNT` loads the first bytes of a file, and prints how many came.
enum Fetching {
  static func run(_ arguments: [String]) async throws {
    guard arguments.count == 2, let url = URL(string: arguments[0]), let count = Int64(arguments[1]), count > 0 else {
      throw CocoaError(.featureUnsupported)
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = [:]
    let session = URLSession(configuration: configuration)
    var request = URLRequest(url: url)
    request.setValue("bytes=0-\(count - 1)", forHTTPHeaderField: "Range")
    let (data, _) = try await session.data(for: request)
    print(data.count)
    session.invalidateAndCancel()
  }
}
