import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a session whose answers come from the app itself, as tests of clients need them: a subclass of `URLProtocol`
/// takes the requests that it knows, and leaves the others to the network.
///
///     EXAMPLES=1 swift run mock-protocol http://localhost:8080
@main
struct MockProtocol {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]),
      let service = URL(string: "https://api.example.com")
    else {
      print("usage: mock-protocol SERVER")
      exit(64)
    }
    do { try await run(with: service, beside: server) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(with service: URL, beside server: URL) async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [MockURLProtocol.self]
    let session = URLSession(configuration: configuration)

    MockURLProtocol.answers.withLock { answers in
      answers["/stock"] = { _ in
        .init(status: 200, fields: ["Content-Type": "application/json"], body: Data("[7]".utf8))
      }
      answers["/orders"] = { request in
        .init(status: 201, fields: [:], body: Data("\(request.httpMethod ?? ""), \(request.bodySize) bytes".utf8))
      }
      answers["/failing"] = { _ in throw URLError(.notConnectedToInternet) }
    }

    let (data, response) = try await session.data(from: service.appendingPathComponent("stock"))
    print("mocked: \(String(decoding: data, as: UTF8.self)), \(response.mimeType ?? "")")

    var request = URLRequest(url: service.appendingPathComponent("orders"))
    request.httpMethod = "POST"
    let (confirmation, _) = try await session.upload(for: request, from: Data(count: 1000))
    print("mocked: \(String(decoding: confirmation, as: UTF8.self))")

    do {
      _ = try await session.data(from: service.appendingPathComponent("failing"))
      throw URLError(.badServerResponse)
    } catch let error as URLError where error.code == .notConnectedToInternet {
      print("mocked: there is no network")
    }

    // Not one of the mocked requests.
    let (article, _) = try await session.data(from: server.appendingPathComponent("article"))
    print("from the server: \(article.isEmpty ? "nothing" : "an article")")
    print("requests that were mocked: \(MockURLProtocol.requests.withLock { $0 }.joined(separator: ", "))")
  }
}
