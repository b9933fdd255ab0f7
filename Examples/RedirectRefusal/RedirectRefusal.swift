import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a delegate that refuses redirects: the redirect's own response becomes the result. (URL Session Programming
/// Guide, listing 5-1.)
///
///     EXAMPLES=1 swift run redirect-refusal http://localhost:8080
@main
struct RedirectRefusal {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: redirect-refusal SERVER")
      exit(64)
    }
    do { try await run(on: server) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(on server: URL) async throws {
    let moved = server.appendingPathComponent("moved")

    // Without a delegate redirects are followed.
    let following = URLSession(configuration: .ephemeral)
    let followed = try await status(of: moved, in: following, named: "followed")

    let refusing = URLSession(configuration: .ephemeral, delegate: RefusingDelegate(), delegateQueue: nil)
    let refused = try await status(of: moved, in: refusing, named: "refused")

    for session in [following, refusing] { session.finishTasksAndInvalidate() }
    exit(followed == 200 && refused == 302 ? 0 : 1)
  }

  private static func status(of url: URL, in session: URLSession, named name: String) async throws -> Int {
    let (data, response) = try await session.data(from: url)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    print("\(name): status \(response.statusCode) from \(response.url?.path ?? ""): \(text)")
    return response.statusCode
  }
}

final class RefusingDelegate: NSObject, URLSessionTaskDelegate {
  /// The answer is the request to go on with: this one, another one, or none.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    print("a redirect with status \(response.statusCode) to \(request.url?.path ?? "")")
    completionHandler(nil)
  }
}
