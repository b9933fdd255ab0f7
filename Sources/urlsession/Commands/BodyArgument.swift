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

  func load() throws -> Data {
    switch self {
    case .text(let text): return Data(text.utf8)
    case .standardInput: return try FileHandle.standardInput.readToEnd() ?? Data()
    case .file(let path):
      do {
        // A regular file is mapped, so that its size does not matter.
        return try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
      } catch {
        throw CommandFailure(.usage, "\(path) can't be read", advice: "check the path after the @ of --data")
      }
    }
  }
}
