import Foundation
import FoundationNetworking

// An app's network layer of the years before `async`: completion handlers, closures without `@Sendable`, classes
// that share mutable state.

struct Article: Codable, Equatable {
  let id: Int
  let title: String
}

enum ClientError: Error {
  case status(Int)
  case noData
}

/// What apps declare so that their tests can replace the session.
protocol RequestLoading {
  func load(_ request: URLRequest, completion: @escaping (Data?, URLResponse?, Error?) -> Void) -> Cancellable
}

protocol Cancellable { func cancel() }

extension URLSessionTask: Cancellable {}

extension URLSession: RequestLoading {
  func load(_ request: URLRequest, completion: @escaping (Data?, URLResponse?, Error?) -> Void) -> Cancellable {
    let task = dataTask(with: request, completionHandler: completion)
    task.resume()
    return task
  }
}

final class CodableClient {
  typealias Completion<Value> = (Result<Value, Error>) -> Void

  private let baseURL: URL
  private let loader: RequestLoading
  private(set) var requestCount = 0
  var token: String?

  init(baseURL: URL, loader: RequestLoading = URLSession.shared) {
    self.baseURL = baseURL
    self.loader = loader
  }

  @discardableResult
  func get<Value: Decodable>(_ path: String, completion: @escaping Completion<Value>) -> Cancellable {
    send(URLRequest(url: baseURL.appendingPathComponent(path)), completion: completion)
  }

  @discardableResult
  func post<Body: Encodable, Value: Decodable>(
    _ path: String, _ body: Body, completion: @escaping Completion<Value>
  ) -> Cancellable {
    var request = URLRequest(
      url: baseURL.appendingPathComponent(path), cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 20)
    request.httpMethod = "POST"
    request.httpBody = try? JSONEncoder().encode(body)
    request.addValue("application/json", forHTTPHeaderField: "Content-Type")
    return send(request, completion: completion)
  }

  private func send<Value: Decodable>(_ request: URLRequest, completion: @escaping Completion<Value>) -> Cancellable {
    var request = request
    if let token = token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    request.allHTTPHeaderFields?["Accept"] = "application/json"
    requestCount += 1
    return loader.load(request) { data, response, error in
      if let error = error {
        completion(.failure(error))
        return
      }
      guard let response = response as? HTTPURLResponse, let data = data else {
        completion(.failure(ClientError.noData))
        return
      }
      guard 200..<300 ~= response.statusCode else {
        completion(.failure(ClientError.status(response.statusCode)))
        return
      }
      completion(Result { try JSONDecoder().decode(Value.self, from: data) })
    }
  }
}

/// Waits for a callback as old code did.
final class Expectation<Value> {
  private let semaphore = DispatchSemaphore(value: 0)
  private var value: Value?

  func fulfill(_ value: Value) {
    self.value = value
    semaphore.signal()
  }

  func wait(seconds: Double = 30) -> Value? {
    guard semaphore.wait(timeout: .now() + seconds) == .success else { return nil }
    return value
  }
}
