import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a reader of server-sent events, over `bytes(for:)`: it takes each event as it comes, and connects again where
/// the connection ends, from the last event that it has.
///
///     EXAMPLES=1 swift run server-sent-events http://localhost:8080
@main
struct ServerSentEvents {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: server-sent-events SERVER")
      exit(64)
    }
    do { try await run(on: server) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(on server: URL) async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 300
    let session = URLSession(configuration: configuration)
    var parser = EventParser()

    while true {
      var request = URLRequest(url: server.appendingPathComponent("events"))
      request.cachePolicy = .reloadIgnoringLocalCacheData
      request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
      if let last = parser.lastEventID { request.setValue(last, forHTTPHeaderField: "Last-Event-ID") }
      let (bytes, response) = try await session.bytes(for: request)
      guard (response as? HTTPURLResponse)?.statusCode == 200, response.mimeType == "text/event-stream" else {
        throw URLError(.badServerResponse)
      }
      print(parser.lastEventID.map { "connected again, after event \($0)" } ?? "connected")

      for try await byte in bytes {
        guard let event = parser.feed(byte) else { continue }
        print("\(event.id ?? "-") \(event.name): \(event.data.replacingOccurrences(of: "\n", with: " | "))")
        if event.name == "end" {
          // Leaving the loop cancels the load.
          session.invalidateAndCancel()
          return
        }
      }
      parser.endOfStream()
      try await Task.sleep(for: .milliseconds(parser.retryMilliseconds))
    }
  }
}
