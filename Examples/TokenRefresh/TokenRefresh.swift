import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a REST client whose tokens expire. Requests know nothing of tokens: when the server asks for one, the session's
/// delegate answers the challenge, and gets a new token where the old one is refused.
///
///     EXAMPLES=1 swift run token-refresh http://localhost:8080
@main
struct TokenRefresh {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: token-refresh SERVER")
      exit(64)
    }
    do { try await run(on: server) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(on server: URL) async throws {
    let client = ArticleClient(server: server)
    // The server lets a token in twice.
    for number in 1...5 {
      let articles = try await client.articles()
      print("request \(number): \(articles.map(\.title).joined(separator: ", "))")
    }
    print("tokens: \(client.numberOfTokens)")

    // Several requests that are refused at a time wait for one new token.
    let other = ArticleClient(server: server)
    async let first = other.articles()
    async let second = other.articles()
    print(
      "two at a time: \(try await first.count) and \(try await second.count) articles, tokens: \(other.numberOfTokens)")
    exit(client.numberOfTokens == 3 && other.numberOfTokens == 1 ? 0 : 1)
  }
}

struct Article: Decodable, Sendable {
  let id: Int
  let title: String
}

struct ArticleClient: Sendable {
  private let server: URL
  private let tokens: TokenDelegate
  private let session: URLSession

  init(server: URL) {
    self.server = server
    tokens = TokenDelegate(server: server)
    session = URLSession(configuration: .ephemeral, delegate: tokens, delegateQueue: nil)
  }

  var numberOfTokens: Int { tokens.numberOfTokens }

  func articles() async throws -> [Article] {
    let (data, response) = try await session.data(from: server.appendingPathComponent("articles"))
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.userAuthenticationRequired) }
    return try JSONDecoder().decode([Article].self, from: data)
  }
}
