import Foundation

/// Why the request of a task stays as it was, after ``URLSessionTask/replaceRequest(with:)``. Not part of Apple's API.
public struct RequestReplacementError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of reason.
  public enum Kind: Sendable, Hashable {
    /// The task is over, or is being cancelled.
    case taskIsOver
    /// The task is not one of a background session.
    case notInBackground
    /// The request differs in more than can be replaced, such as its body, or is none that a background task can have.
    case notReplaceable
    /// The transfer service does not take the request.
    case refused
  }

  /// The kind of reason.
  public let kind: Kind
  /// A sentence for people, in English.
  public let sentence: String

  /// The sentence.
  public var description: String { sentence }

  init(_ kind: Kind, _ sentence: String) { (self.kind, self.sentence) = (kind, sentence) }

  static let taskIsOver = RequestReplacementError(.taskIsOver, "The task is over, or is being cancelled.")
  static let notInBackground = RequestReplacementError(
    .notInBackground, "Only tasks of background sessions can be given another request.")
}

extension RequestReplacementError: LocalizedError {
  /// The sentence.
  public var errorDescription: String? { sentence }
}
