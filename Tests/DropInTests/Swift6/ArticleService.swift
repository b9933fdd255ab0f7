import Foundation
import FoundationNetworking

// An app's network layer as it is written today: `async`, actors, `Sendable` values, one session.

struct Item: Codable, Sendable, Equatable, Identifiable {
  var id: Int
  var name: String
}

enum ServiceError: Error, Equatable {
  case badStatus(Int)
  case offline
}

struct Endpoint<Answer: Decodable & Sendable>: Sendable {
  var path: String
  var method = "GET"
  var body: Data?
  var query: [URLQueryItem] = []
}

actor ArticleService {
  private let base: URL
  private let session: URLSession
  private var inFlight: [URL: Task<Data, any Error>] = [:]
  private(set) var sent = 0

  init(base: URL, session: URLSession = .shared) {
    self.base = base
    self.session = session
  }

  func send<Answer>(_ endpoint: Endpoint<Answer>) async throws -> Answer {
    var components = URLComponents(url: base.appending(path: endpoint.path), resolvingAgainstBaseURL: false)
    if !endpoint.query.isEmpty { components?.queryItems = endpoint.query }
    guard let url = components?.url else { throw URLError(.badURL) }
    var request = URLRequest(url: url)
    request.httpMethod = endpoint.method
    request.httpBody = endpoint.body
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    sent += 1
    do {
      let (data, response) = try await session.data(for: request)
      guard let http = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
      guard (200..<300).contains(http.statusCode) else { throw ServiceError.badStatus(http.statusCode) }
      return try JSONDecoder().decode(Answer.self, from: data)
    } catch let error as URLError where error.code == .notConnectedToInternet {
      throw ServiceError.offline
    }
  }

  /// Two callers of one URL share one load.
  func shared(_ url: URL) async throws -> Data {
    if let running = inFlight[url] { return try await running.value }
    let task = Task { [session] in try await session.data(from: url).0 }
    inFlight[url] = task
    defer { inFlight[url] = nil }
    return try await task.value
  }

  func all(_ paths: [String]) async throws -> [String: Int] {
    try await withThrowingTaskGroup(of: (String, Int).self) { group in
      for path in paths {
        group.addTask { [base, session] in
          let (data, _) = try await session.data(from: base.appending(path: path))
          return (path, data.count)
        }
      }
      var sizes: [String: Int] = [:]
      for try await (path, size) in group { sizes[path] = size }
      return sizes
    }
  }
}

extension URLSession {
  /// A retrying call, as apps extend the session with.
  func data(for request: URLRequest, retrying attempts: Int) async throws -> (Data, HTTPURLResponse) {
    for attempt in 1... {
      do {
        let (data, response) = try await data(for: request)
        if let http = response as? HTTPURLResponse { return (data, http) }
        throw URLError(.badServerResponse)
      } catch let error as URLError where attempt < attempts && error.code == .networkConnectionLost {
        continue
      }
    }
    throw URLError(.unknown)
  }

  /// Handlers turned into `async`, as was done before the session had `async` calls.
  func legacyData(with url: URL) async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
      dataTask(with: url) { data, _, error in
        if let error {
          continuation.resume(throwing: error)
        } else {
          continuation.resume(returning: data ?? Data())
        }
      }.resume()
    }
  }
}
