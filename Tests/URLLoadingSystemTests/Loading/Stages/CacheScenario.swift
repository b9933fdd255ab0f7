import Foundation
import HTTPSemantics
import LoopbackServer
import Testing
import URLLoadingSystem

/// Requests of one URL after the other, with the answers that the server has for them, and the way in which each is to be
/// answered.
struct CacheScenario: Sendable, CustomTestStringConvertible {
  enum Expectation: Sendable, Equatable {
    case fetched
    case cached
    /// The server is asked with this field, and confirms.
    case validated(by: String)
    case failed
  }

  struct Step: Sendable {
    var method = "GET"
    var path = "/a"
    /// One field a line, here and below.
    var fields = ""
    var policy = URLRequest.CachePolicy.useProtocolCachePolicy
    var hasContent = false
    /// The answer of the server.
    var status = 200
    var reply = ""
    var body = "body"
    /// The whole reply in place of the above: HTTP/1.1 alone has it.
    var steps: [ReplyStep]?
    // The answer of the session.
    var expectation: Expectation
    var expectedStatus: Int?
    var expectedFields = ""
    var absentFields: [String] = []
    var expectedBody: String?
  }

  var name: String
  var isForHTTP1 = false
  var steps: [Step]

  var testDescription: String { name }

  /// The fields of lines. A value `@n` stands for a date, n seconds from now.
  static func list(_ lines: String) -> HeaderList {
    let now = Int64(Date().timeIntervalSince1970)
    return lines.split(separator: "\n").map { line in
      let colon = line.firstIndex(of: ":") ?? line.endIndex
      let value = line[colon...].dropFirst().drop { $0 == " " }
      let seconds = value.hasPrefix("@") ? Int64(value.dropFirst()) : nil
      return (String(line[..<colon]), seconds.map { HTTPDate.format(now + $0) } ?? String(value))
    }
  }
}
