import Foundation
import HTTPSemantics

extension URLRequest {
  /// The request with what its session adds to every request (`httpAdditionalHeaders`): where the request has a field itself, that
  /// one stays.
  ///
  /// This happens once, when a load begins, not on every hop: what a redirect to another origin takes away stays away.
  package func completed(by sessionFields: HTTPFields) -> URLRequest {
    var request = self
    for field in sessionFields.fields where !headerFields.contains(field.name) {
      request.headerFields.append(field.name, field.value)
    }
    return request
  }
}
