import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore
import Synchronization
import SystemServices

/// A session's proxy auto-configuration script: fetched when it is first needed and again from time to time, and asked
/// for each origin.
///
/// A script that can't be fetched or does not work leaves the choice to the rest of the settings, as on Apple's systems;
/// a machine without an evaluator is an error, since the script would never be honoured.
final class ProxyScript: Sendable {
  private enum Text: Sendable {
    case script(String)
    case unavailable
  }

  private struct State: Sendable {
    var text: (value: Text, expiry: NIODeadline)?
    var fetching: EventLoopFuture<Text>?
    var answers: [String: (routes: [ProxyRoute]?, expiry: NIODeadline)] = [:]
  }

  private enum Step: Sendable {
    case use(Text)
    case wait(EventLoopFuture<Text>)
    case fetch(EventLoopPromise<Text>)
  }

  private let origin: ProxySettings.Automatic
  private let evaluator: ProxyScriptEvaluator?
  private let state = Mutex(State())

  private static let textValidity = TimeAmount.minutes(15)
  private static let outageLength = TimeAmount.seconds(30)
  private static let answerValidity = TimeAmount.minutes(5)
  private static let answerLimit = 500
  private static let sizeLimit = 1 << 20

  init(_ origin: ProxySettings.Automatic, evaluator: ProxyScriptEvaluator? = ProxyScriptEvaluator()) {
    self.origin = origin
    self.evaluator = evaluator
  }

  /// nil when the script has nothing to say, because there is none or it fails.
  func routes(to url: URL?, _ destination: ProxyDestination, in context: LoadContext) async throws -> [ProxyRoute]? {
    guard let evaluator else {
      return [
        .impossible("The proxy script can't be evaluated: pactester of the package libpacparser1 is not installed.")
      ]
    }
    guard case .script(let script) = try await text(in: context) else { return nil }
    let question = ProxyScript.question(url, destination)
    let now = NIODeadline.now()
    if let known = state.withLock({ $0.answers[question] }), known.expiry > now { return known.routes }
    let answer = try await ProxyQuestion.ask(in: context) { () -> String? in
      try? evaluator.answer(of: script, url: question, host: destination.host)
    }
    let routes = answer.map { PACAnswer.routes($0) }
    state.withLock {
      if $0.answers.count >= ProxyScript.answerLimit { $0.answers = [:] }
      let validity = routes == nil ? ProxyScript.outageLength : ProxyScript.answerValidity
      $0.answers[question] = (routes, .now() + validity)
    }
    return routes
  }

  /// The URL that the script is given: of https the origin alone, as browsers do, since a script may come from anywhere. Of a
  /// WebSocket it is told a WebSocket's URL (RFC 6455 §4.1), of other bytes that they go to an https server.
  private static func question(_ url: URL?, _ destination: ProxyDestination) -> String {
    let host = destination.host.utf8.contains(UInt8(ascii: ":")) ? "[\(destination.host)]" : destination.host
    let scheme = destination.scheme == "tcp" ? "https" : destination.scheme
    let known = destination.widelyKnownScheme
    let isDefault = destination.port == (known == "http" ? 80 : known == "ftp" ? 21 : 443)
    let origin = "\(scheme)://\(host)\(isDefault ? "" : ":\(destination.port)")"
    guard known != "https", let url, let target = try? known == "ftp" ? HTTPTarget(ftp: url) : HTTPTarget(url) else {
      return origin + "/"
    }
    return origin + target.requestTarget
  }

  // MARK: The text

  private func text(in context: LoadContext) async throws -> Text {
    let address: String
    switch origin {
    case .script(let script): return .script(script)
    case .url(let url): address = url
    case .discovery: address = "http://wpad/wpad.dat"
    }
    let now = NIODeadline.now()
    let step = state.withLock { state -> Step in
      if let known = state.text, known.expiry > now { return .use(known.value) }
      if let fetching = state.fetching { return .wait(fetching) }
      let promise = context.loop.makePromise(of: Text.self)
      state.fetching = promise.futureResult
      return .fetch(promise)
    }
    switch step {
    case .use(let text): return text
    case .wait(let fetching): return try await ProxyQuestion.wait(for: fetching, in: context)
    case .fetch(let promise):
      promise.futureResult.whenSuccess { text in self.arrived(text) }
      ProxyScript.fetch(address, in: context, promise)
      return try await ProxyQuestion.wait(for: promise.futureResult, in: context)
    }
  }

  private func arrived(_ text: Text) {
    state.withLock {
      $0.fetching = nil
      $0.answers = [:]
      if case .unavailable = text {
        $0.text = (text, .now() + ProxyScript.outageLength)
      } else {
        $0.text = (text, .now() + ProxyScript.textValidity)
      }
    }
  }

  /// Loads the script directly, by the pipeline of every load. Never fails: no script is an answer.
  private static func fetch(_ address: String, in context: LoadContext, _ promise: EventLoopPromise<Text>) {
    guard let url = URL(string: address) else { return promise.succeed(.unavailable) }
    var configuration = context.configuration
    configuration.proxies = nil
    configuration.waitsForConnectivity = false
    let transport = HTTPTransport(configuration: configuration.transport)
    let fetch = LoadContext(for: url, configuration: configuration, transport: transport, client: Fetcher())
    fetch.start { fetch in
      fetch.control.startTimers(idle: 15, resource: 30)
      let text = try? await load(url, in: fetch)
      fetch.control.finish()
      transport.shutDown()
      promise.succeed(text.map { .script($0) } ?? .unavailable)
    }
  }

  private static func load(_ url: URL, in context: LoadContext) async throws -> String? {
    let loaded = try await LoadPipeline.load(LoadRequest(URLRequest(url: url)), in: context)
    if let head = loaded.head, !(200..<300).contains(head.status) {
      loaded.body.discard()
      return nil
    }
    var bytes: [UInt8] = []
    while let chunk = try await loaded.body.next() {
      guard bytes.count + chunk.readableBytes <= sizeLimit else {
        loaded.body.discard()
        return nil
      }
      bytes.append(contentsOf: chunk.readableBytesView)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The load of a script asks no delegate.
  private final class Fetcher: LoadClient {}
}
