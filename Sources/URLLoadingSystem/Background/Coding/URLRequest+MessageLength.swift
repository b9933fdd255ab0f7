import Foundation

extension URLRequest {
  /// About how many bytes it takes in a message: Base64 makes four of three.
  var estimatedMessageLength: Int {
    let fields = headerFields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    return 1_024 + (url?.absoluteString.utf8.count ?? 0) * 2 + fields * 2 + (httpBody?.count ?? 0) / 3 * 4
  }
}
