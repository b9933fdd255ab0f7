import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// The class as apps subclass it, and how its subclasses are chosen.
@Suite struct URLProtocolTests {
  @Test func theClassesOfTheConfigurationAreAskedInOrderBeforeTheBuiltInLoaders() async throws {
    final class First: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/first" }
      override func startLoading() { answer(self, "first") }
    }
    final class Second: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { request.url?.path != "/server" }
      override func startLoading() { answer(self, "second") }
    }
    let server = try await LoopbackServer.start { _ in .ok("server") }
    try await server.withSession(configure: { $0.protocolClasses = [NSObject.self, First.self, Second.self] }) {
      server, session in
      for (path, expected) in [("/first", "first"), ("/second", "second"), ("/server", "server")] {
        let (data, _) = try await session.data(from: server.url(path))
        #expect(String(decoding: data, as: UTF8.self) == expected)
      }
      #expect(server.requests.map(\.target) == ["/server"])
    }
  }

  /// Another class than others use, since the list is the process's.
  @Test func registeredClassesServeTheSharedSessionAndTheLatestIsAskedFirst() async throws {
    final class Earlier: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "registered" }
      override func startLoading() { answer(self, "earlier") }
    }
    final class Later: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "registered" }
      override func startLoading() { answer(self, "later") }
    }
    #expect(URLProtocol.registerClass(Earlier.self))
    #expect(URLProtocol.registerClass(Later.self))
    #expect(!URLProtocol.registerClass(NSObject.self))
    let url = try #require(URL(string: "registered://host/"))
    var (data, _) = try await URLSession.shared.data(from: url)
    #expect(String(decoding: data, as: UTF8.self) == "later")
    URLProtocol.unregisterClass(Later.self)
    (data, _) = try await URLSession.shared.data(from: url)
    #expect(String(decoding: data, as: UTF8.self) == "earlier")
    let session = URLSession(configuration: .loopback)
    defer { session.invalidateAndCancel() }
    #expect(await failure { _ = try await session.data(from: url) } == .unsupportedURL)
    URLProtocol.unregisterClass(Earlier.self)
    #expect(await failure { _ = try await URLSession.shared.data(from: url) } == .unsupportedURL)
  }

  @Test func protocolsAreNoneByDefault() {
    #expect(URLSessionConfiguration.default.protocolClasses?.isEmpty == true)
    #expect(URLSessionConfiguration.ephemeral.protocolClasses?.isEmpty == true)
  }

  @Test func theBaseClassTakesNothingAndFails() async throws {
    let url = try #require(URL(string: "http://host.test/"))
    #expect(!URLProtocol.canInit(with: URLRequest(url: url)))
    #expect(URLProtocol.canonicalRequest(for: URLRequest(url: url)) == URLRequest(url: url))
    final class Idle: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { true }
    }
    let session = session(of: Idle.self)
    defer { session.invalidateAndCancel() }
    #expect(await failure { _ = try await session.data(from: url) } == .unsupportedURL)
  }

  @Test func anOverrideOfTheDesignatedInitialiserIsCalled() async throws {
    final class Prepared: URLProtocol {
      private let prepared: String
      override init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
        prepared = "prepared for \(request.url?.path ?? "")"
        super.init(request: request, cachedResponse: cachedResponse, client: client)
      }
      override class func canInit(with request: URLRequest) -> Bool { true }
      override func startLoading() { answer(self, "\(prepared), \(task?.taskDescription ?? "")") }
    }
    let session = session(of: Prepared.self)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "http://host.test/path"))
    let (texts, done) = (Recorder<String>(), Gate())
    let task = session.dataTask(with: url) { data, _, _ in
      texts.record(String(decoding: data ?? Data(), as: UTF8.self))
      done.open()
    }
    task.taskDescription = "labelled"
    task.resume()
    try await done.wait(within: patience)
    #expect(texts.all == ["prepared for /path, labelled"])
  }

  @Test func anObjectOfATaskHasTheTaskAndItsRequest() throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "http://host.test/"))
    let task = session.dataTask(with: url)
    let object = URLProtocol(task: task, cachedResponse: nil, client: nil)
    #expect(object.task === task)
    #expect(object.request == task.currentRequest)
    #expect(object.client == nil)
    #expect(object.cachedResponse == nil)
    #expect(URLProtocol(request: URLRequest(url: url), cachedResponse: nil, client: nil).task == nil)
    task.cancel()
  }

  @Test func theFormForTasksIsAskedFirst() async throws {
    final class ByTask: URLProtocol {
      override class func canInit(with task: URLSessionTask) -> Bool { task is URLSessionDownloadTask }
      override class func canInit(with request: URLRequest) -> Bool { true }
      override func startLoading() { answer(self, "by task") }
    }
    let session = session(of: ByTask.self)
    defer { session.invalidateAndCancel() }
    let (file, _) = try await session.download(from: try #require(URL(string: "by-task:")))
    #expect(try String(contentsOf: file, encoding: .utf8) == "by task")
    try FileManager.default.removeItem(at: file)
    let url = try #require(URL(string: "by-task:"))
    #expect(await failure { _ = try await session.data(from: url) } == .unsupportedURL)
  }

  @Test func theSessionsFieldsAreShownToTheClassAndTheObject() async throws {
    final class Fields: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool {
        request.value(forHTTPHeaderField: "X-Session") == "1"
      }
      override func startLoading() { answer(self, request.value(forHTTPHeaderField: "X-Session") ?? "none") }
    }
    let session = session(of: Fields.self) { $0.httpAdditionalHeaders = ["X-Session": "1"] }
    defer { session.invalidateAndCancel() }
    let (data, _) = try await session.data(from: try #require(URL(string: "http://host.test/")))
    #expect(String(decoding: data, as: UTF8.self) == "1")
  }

  @Test func theObjectGetsTheCanonicalRequest() async throws {
    final class Canonical: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { true }
      override class func canonicalRequest(for request: URLRequest) -> URLRequest {
        var request = request
        request.url = request.url.flatMap { URL(string: $0.absoluteString.lowercased()) }
        return request
      }
      override func startLoading() { answer(self, request.url?.absoluteString ?? "") }
    }
    let session = session(of: Canonical.self)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "http://host.test/PATH"))
    let (data, _) = try await session.data(from: url)
    #expect(String(decoding: data, as: UTF8.self) == "http://host.test/path")
    let lower = try #require(URL(string: "http://host.test/path"))
    #expect(Canonical.requestIsCacheEquivalent(URLRequest(url: url), to: URLRequest(url: lower)))
    #expect(!URLProtocol.requestIsCacheEquivalent(URLRequest(url: url), to: URLRequest(url: lower)))
  }

  @Test func propertiesStayOnTheRequestAndItsCopies() throws {
    let url = try #require(URL(string: "http://host.test/"))
    let mutable = NSMutableURLRequest(url: url)
    URLProtocol.setProperty(7, forKey: "number", in: mutable)
    var request = mutable.request
    #expect(URLProtocol.property(forKey: "number", in: request) as? Int == 7)
    URLProtocol.removeProperty(forKey: "number", in: mutable)
    #expect(URLProtocol.property(forKey: "number", in: mutable.request) == nil)
    #expect(URLProtocol.property(forKey: "number", in: request) as? Int == 7)
    URLProtocol.setProperty("text", forKey: "text", in: &request)
    let copy = request
    URLProtocol.removeProperty(forKey: "text", in: &request)
    #expect(URLProtocol.property(forKey: "text", in: request) == nil)
    #expect(URLProtocol.property(forKey: "text", in: copy) as? String == "text")
  }

  /// The usual protocol that watches a session: it sends the request itself, marked so that it does not take it again.
  @Test func aProtocolMayLoadTheRequestWithTheSameClasses() async throws {
    final class Watching: URLProtocol, @unchecked Sendable {
      private static let key = "watched"
      private let inner = Mutex<URLSession?>(nil)

      override class func canInit(with request: URLRequest) -> Bool { property(forKey: key, in: request) == nil }

      override func startLoading() {
        let marked = NSMutableURLRequest(request)
        URLProtocol.setProperty(true, forKey: Watching.key, in: marked)
        let configuration = URLSessionConfiguration.loopback
        configuration.protocolClasses = [Watching.self]
        let session = URLSession(configuration: configuration)
        inner.withLock { $0 = session }
        session.dataTask(with: marked.request) { data, response, error in
          if let response {
            self.client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
          }
          if let data { self.client?.urlProtocol(self, didLoad: data) }
          if let error {
            self.client?.urlProtocol(self, didFailWithError: error)
          } else {
            self.client?.urlProtocolDidFinishLoading(self)
          }
        }.resume()
      }

      override func stopLoading() { inner.withLock { $0 }?.invalidateAndCancel() }
    }
    let server = try await LoopbackServer.start { request in .ok("to \(request.target)") }
    try await server.withSession(configure: { $0.protocolClasses = [Watching.self] }) { server, session in
      let (data, response) = try await session.data(from: server.url("/watched"))
      #expect(String(decoding: data, as: UTF8.self) == "to /watched")
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      #expect(server.requests.count == 1)
    }
  }

  private func session(
    of type: AnyClass, _ change: (URLSessionConfiguration) -> Void = { _ in }
  ) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [type]
    change(configuration)
    return URLSession(configuration: configuration)
  }
}

/// Answers with a text, as the shortest mock does.
private func answer(_ object: URLProtocol, _ text: String) {
  guard let url = object.request.url else { return }
  let response = URLResponse(url: url, mimeType: nil, expectedContentLength: text.utf8.count, textEncodingName: nil)
  object.client?.urlProtocol(object, didReceive: response, cacheStoragePolicy: .notAllowed)
  object.client?.urlProtocol(object, didLoad: Data(text.utf8))
  object.client?.urlProtocolDidFinishLoading(object)
}
