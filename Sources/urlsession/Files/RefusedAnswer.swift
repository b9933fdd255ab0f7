import Foundation
import HTTPSemantics
import URLLoadingSystem

/// An answer of HTTP whose body is not the file that was asked for, so that no file is replaced by it.
enum RefusedAnswer: Sendable, Equatable {
  /// A status other than 2xx.
  case status(Int)
  /// A 206 (RFC 9110 §15.3.7) that holds less than the whole, to a request for the whole.
  case part

  /// nil where the body is the file.
  ///
  /// - Parameters:
  ///   - contentRange: Content-Range of the answer.
  ///   - length: Bytes of the file that came of it, and of those before it where a download was continued.
  ///   - asksForRange: Whether the user asked for a range.
  init?(status: Int, contentRange: String?, length: Int64?, asksForRange: Bool) {
    guard 200..<300 ~= status else {
      self = .status(status)
      return
    }
    guard status == 206, !asksForRange else { return nil }
    guard let length, case .part(let first, let last, let total) = contentRange.flatMap(ContentRange.init(parsing:))
    else {
      self = .part
      return
    }
    if let total {
      if length == total { return nil }
    } else if first > 0, length > last {
      // The answer continued a file. One that is continued without a known length ends where the server has no more.
      return nil
    }
    self = .part
  }

  /// - Parameter file: The file that came of the task.
  init?(to task: URLSessionTask, file: String) {
    guard let response = task.response as? HTTPURLResponse else { return nil }
    var status = stat()
    self.init(
      status: response.statusCode, contentRange: response.value(forHTTPHeaderField: "Content-Range"),
      length: stat(file, &status) == 0 ? Int64(status.st_size) : nil,
      asksForRange: task.originalRequest?.value(forHTTPHeaderField: "Range") != nil)
  }
}
