import Foundation
import TransferProtocol

extension TransferDescription {
  /// A download as a test needs it.
  static func download(
    _ url: String, task: Int = 1, running: Bool = true, headers: [HeaderField] = [], method: String = "GET"
  ) -> TransferDescription {
    var description = TransferDescription(
      token: "token-\(task)", taskIdentifier: task,
      request: RequestDescription(url: url, method: method, headers: headers))
    description.startsImmediately = running
    return description
  }
}
