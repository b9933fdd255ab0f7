import Foundation
import TransferProtocol

extension EditTransfer {
  /// The change from one request of a task to another. Its transfer is named when it is sent.
  ///
  /// - Throws: where a background task can't have the new request, or it differs in what can't be changed.
  init(from former: URLRequest, to new: URLRequest, isUpload: Bool) throws(RequestReplacementError) {
    self.init(transfer: 0)
    var (former, new) = (former, new)
    if isUpload {
      // Its body is its file.
      (former.httpBody, former.httpBodyStream) = (nil, nil)
      (new.httpBody, new.httpBodyStream) = (nil, nil)
    }
    guard ["http", "https"].contains(new.url?.scheme?.lowercased() ?? "") else {
      throw RequestReplacementError(.notReplaceable, "Background sessions load http and https URLs only.")
    }
    if let problem = new.uncarriedProperty() {
      throw RequestReplacementError(.notReplaceable, problem.localizedDescription)
    }
    let (before, after) = (RequestDescription(former), RequestDescription(new))
    try EditTransfer.checkRest(before, after)
    if after.url != before.url { url = after.url }
    let (values, newValues) = (EditTransfer.values(before.headers), EditTransfer.values(after.headers))
    // All of them, also where few differ: the service drops those that are for the former origin alone, and may have other
    // values than the former request.
    let saysFields = url != nil || values != newValues
    let removed = values.keys.filter { newValues[$0] == nil }.sorted()
    fields = saysFields && !after.headers.isEmpty ? after.headers : nil
    removedFields = removed.isEmpty ? nil : removed
    if after.allowsCellularAccess != before.allowsCellularAccess { allowsCellularAccess = after.allowsCellularAccess }
    if after.allowsExpensiveNetworkAccess != before.allowsExpensiveNetworkAccess {
      allowsExpensiveNetworkAccess = after.allowsExpensiveNetworkAccess
    }
    if after.allowsConstrainedNetworkAccess != before.allowsConstrainedNetworkAccess {
      allowsConstrainedNetworkAccess = after.allowsConstrainedNetworkAccess
    }
  }

  private static func checkRest(
    _ before: RequestDescription, _ after: RequestDescription
  ) throws(RequestReplacementError) {
    guard before.method == after.method else {
      throw RequestReplacementError(.notReplaceable, "The method can't be replaced: it is \(before.method).")
    }
    guard before.body == after.body else {
      throw RequestReplacementError(.notReplaceable, "The body can't be replaced: make another task.")
    }
    var rest = after
    (rest.url, rest.headers) = (before.url, before.headers)
    rest.allowsCellularAccess = before.allowsCellularAccess
    rest.allowsExpensiveNetworkAccess = before.allowsExpensiveNetworkAccess
    rest.allowsConstrainedNetworkAccess = before.allowsConstrainedNetworkAccess
    guard rest == before else {
      throw RequestReplacementError(
        .notReplaceable,
        "Only the URL, the header fields and the networks that it may use can be replaced: begin with currentRequest.")
    }
  }

  /// By name in lower case.
  static func values(_ fields: [HeaderField]) -> [String: [String]] {
    fields.reduce(into: [:]) { $0[$1.name.lowercased(), default: []].append($1.value) }
  }
}
