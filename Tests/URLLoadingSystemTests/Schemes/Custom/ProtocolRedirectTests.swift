import Foundation
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Redirects by custom protocols, and to them.
@Suite struct ProtocolRedirectTests {
  @Test(arguments: [false, true]) func aRedirectIsOfferedToTheDelegateAndThenToTheClasses(isDelegated: Bool)
    async throws
  {
    let script = ProtocolScript { object in
      switch object.request.url?.path {
      case "/":
        object.redirect(to: "/proposed")
        // As protocols do that have loaded the redirect with a session of their own.
        object.fail(URLError(.cancelled))
      default: object.answer(object.request.url?.path ?? "")
      }
    }
    let delegate = RecordingDelegate()
    let chosen = try script.url("/chosen")
    delegate.onRedirect = { _ in URLRequest(url: chosen) }
    let session = isDelegated ? script.session(delegate) : script.session()
    defer { session.invalidateAndCancel() }
    let expected = isDelegated ? "/chosen" : "/proposed"
    let (data, response) = try await session.data(from: try script.url())
    #expect(String(decoding: data, as: UTF8.self) == expected)
    #expect(response.url?.path == expected)
    #expect(delegate.events.all.filter { $0 == "redirect 302" }.count == (isDelegated ? 1 : 0))
    #expect(try await script.stops.first(2).sorted() == ["/", expected])
  }

  @Test func theTaskShowsTheRequestItIsAt() async throws {
    let script = ProtocolScript { object in
      if object.request.url?.path == "/" {
        object.redirect(to: "/next") { URLProtocol.setProperty(1, forKey: "kept", in: &$0) }
      } else {
        object.answer("\(URLProtocol.property(forKey: "kept", in: object.request) as? Int ?? 0)")
      }
    }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let texts = Recorder<String>()
    let task = session.dataTask(with: try script.url()) { data, _, _ in
      texts.record(String(decoding: data ?? Data(), as: UTF8.self))
    }
    task.resume()
    #expect(try await texts.next() == "1")
    #expect(task.originalRequest?.url?.path == "/")
    #expect(task.currentRequest?.url?.path == "/next")
  }

  enum Rest: CaseIterable, Sendable { case nothing, body, response, failure }

  @Test(arguments: Rest.allCases) func aRedirectThatIsRefusedIsTheResult(rest: Rest) async throws {
    let script = ProtocolScript { object in
      object.redirect(to: "/next")
      switch rest {
      case .nothing: break
      case .body:
        object.load("body")
        object.finish()
      case .response:
        object.respond(303)
        object.load("body")
        object.finish()
      case .failure: object.fail(URLError(.cancelled))
      }
    }
    let delegate = RecordingDelegate()
    delegate.onRedirect = { _ in nil }
    let session = script.session(delegate)
    defer { session.invalidateAndCancel() }
    let (data, response) = try await session.data(from: try script.url())
    #expect((response as? HTTPURLResponse)?.statusCode == (rest == .response ? 303 : 302))
    #expect(String(decoding: data, as: UTF8.self) == ([.body, .response].contains(rest) ? "body" : ""))
    #expect(try await script.stops.first(1) == ["/"])
    #expect(script.requests.count == 1)
  }

  @Test func redirectsHaveALimit() async throws {
    let script = ProtocolScript { $0.redirect(to: "/again") }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let url = try script.url()
    #expect(await failure { _ = try await session.data(from: url) } == .httpTooManyRedirects)
    #expect(script.requests.count == 17)
  }

  @Test func aProtocolMayLeadToAServerAndAServerToAProtocol() async throws {
    let script = ProtocolScript { object in
      guard let target = object.request.value(forHTTPHeaderField: "X-Server").flatMap({ URL(string: $0) }),
        let response = object.response(302), object.request.url?.path == "/away"
      else { return object.answer("in the app") }
      object.client?.urlProtocol(object, wasRedirectedTo: URLRequest(url: target), redirectResponse: response)
    }
    let back = try script.url("/back", scheme: "myapp").absoluteString
    let server = try await LoopbackServer.start { request in
      request.target == "/back"
        ? .redirect(to: back) : request.target == "/nowhere" ? .redirect(to: "other:x") : .ok("there")
    }
    try await server.withSession(configure: { $0.protocolClasses = [ScriptedProtocol.self] }) { server, session in
      var request = URLRequest(url: try script.url("/away"))
      request.setValue(server.url("/there").absoluteString, forHTTPHeaderField: "X-Server")
      var (data, response) = try await session.data(for: request)
      #expect(String(decoding: data, as: UTF8.self) == "there")
      #expect(response.url == server.url("/there"))
      (data, response) = try await session.data(from: server.url("/back"))
      #expect(String(decoding: data, as: UTF8.self) == "in the app")
      #expect(response.url?.scheme == "myapp")
      #expect(await failure { _ = try await session.data(from: server.url("/nowhere")) } == .unsupportedURL)
    }
  }

  @Test(arguments: ["data", "upload", "stream"]) func theBodyGoesAlongWhereTheRequestKeepsIt(kind: String) async throws
  {
    let script = ProtocolScript { object in
      switch object.request.url?.path {
      case "/":
        _ = object.body
        object.redirect(to: "/kept")
      case "/kept":
        guard object.body == "body" else { return object.fail(URLError(.requestBodyStreamExhausted)) }
        object.redirect(to: "/dropped") { request in
          request.httpMethod = "GET"
          request.httpBodyStream = nil
        }
      default: object.answer(object.body)
      }
    }
    let delegate = RecordingDelegate()
    delegate.stream = { InputStream(data: Data("body".utf8)) }
    let session = script.session(delegate)
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: try script.url())
    request.httpMethod = "POST"
    let task: URLSessionTask
    switch kind {
    case "data":
      request.httpBody = Data("body".utf8)
      task = session.dataTask(with: request)
    case "upload": task = session.uploadTask(with: request, from: Data("body".utf8))
    default: task = session.uploadTask(withStreamedRequest: request)
    }
    task.resume()
    try await delegate.done.wait(within: patience)
    #expect(delegate.errors.all.isEmpty)
    #expect(String(decoding: delegate.received.withLock { $0 }, as: UTF8.self) == "no stream")
    #expect(delegate.events.all.filter { $0 == "stream" }.count == (kind == "stream" ? 2 : 0))
  }
}
