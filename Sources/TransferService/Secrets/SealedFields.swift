import Foundation
import TransferProtocol

/// The parts of a request that the queue has sealed: they may hold credentials, and a service that begins anew can't ask for
/// them again. The URL, the method and the settings stay readable.
struct SealedFields: Codable, Equatable {
  var headers: [HeaderField]
  var body: Data?
  var protocolProperties: Data?

  /// nil where the request has none.
  init?(of request: RequestDescription) {
    guard !request.headers.isEmpty || request.body != nil || request.protocolProperties != nil else { return nil }
    (headers, body, protocolProperties) = (request.headers, request.body, request.protocolProperties)
  }

  /// Sealed fields are of use with their own task alone, also in a queue that is made anew.
  static func purpose(of token: String) -> String { "the fields of \(token)" }

  /// The same for the additional fields of a session. A path outlives the numbers of a queue.
  static func purpose(of program: String, _ session: String) -> String { "the fields of \(program) for \(session)" }

  func put(into request: inout RequestDescription) {
    (request.headers, request.body, request.protocolProperties) = (headers, body, protocolProperties)
  }

  static func remove(from request: inout RequestDescription) {
    (request.headers, request.body, request.protocolProperties) = ([], nil, nil)
  }
}
