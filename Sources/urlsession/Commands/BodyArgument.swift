import ArgumentParser
import Foundation

/// The body to send: a text, or with `@` in front the content of a file, `@-` being standard input.
enum BodyArgument: ExpressibleByArgument, Sendable, Equatable {
  case text(String)
  case file(String)
  case standardInput

  init(argument: String) {
    switch argument {
    case "@-": self = .standardInput
    case _ where argument.hasPrefix("@"): self = .file(String(argument.dropFirst()))
    default: self = .text(argument)
    }
  }

  /// Joins the values of several `-d` with `&`, as curl does; nil without any. One alone stays as it is.
  static func load(_ arguments: [BodyArgument]) throws -> Data? {
    guard let first = arguments.first else { return nil }
    return try arguments.dropFirst().reduce(first.load()) { try $0 + Data("&".utf8) + $1.load() }
  }

  /// Refuses several `-d` where `&` does not join them, or where standard input would be read twice.
  static func checkJoining(_ arguments: [BodyArgument], for url: URL, headers: [HeaderArgument]) throws {
    guard arguments.count > 1 else { return }
    let type = headers.last { $0.name.lowercased() == "content-type" }?.value ?? formType
    let isForm = type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased() == formType
    guard isForm, ["http", "https", "http+unix"].contains(url.scheme?.lowercased()) else {
      throw ValidationError(
        "several -d are joined with & as fields of a form: give one -d for a body of another type, and for other URLs "
          + "than those of HTTP")
    }
    guard arguments.count(where: { $0 == .standardInput }) < 2 else {
      throw ValidationError("-d @- reads all of standard input: give it once")
    }
  }

  /// The type of a body whose type no header names.
  static let formType = "application/x-www-form-urlencoded"

  func load() throws -> Data {
    switch self {
    case .text(let text): return Data(text.utf8)
    case .standardInput: return try FileHandle.standardInput.readToEnd() ?? Data()
    case .file(let path):
      do {
        // A regular file is mapped, so that its size does not matter.
        return try Data(contentsOf: URL(fileURLWithPath: try CommandPath.absolute(path)), options: .mappedIfSafe)
      } catch {
        throw CommandFailure(.usage, "\(path) can't be read", advice: "check the path after the @ of --data")
      }
    }
  }
}
