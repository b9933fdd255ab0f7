import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// The load of a stream task: the connection, then what the app asks of it.
final class StreamLoad: TaskLoad, @unchecked Sendable {
  // Sendable by hand: confined to the load's loop, as every `TaskLoad`.
  private let streamTask: URLSessionStreamTask

  init(task: URLSessionStreamTask, start: TaskStart) {
    streamTask = task
    super.init(task: task, start: start)
  }

  override var isPlain: Bool { false }

  override func perform(in context: LoadContext) async throws -> Received {
    context.loop.assertInEventLoop()
    guard case .host(let host, let port) = streamTask.source else {
      throw ErrorMapping.make(.badURL, because: "The stream task has no host to connect to.")
    }
    guard let name = StreamLoad.connectableName(host), (1...65_535).contains(port) else {
      throw ErrorMapping.make(.badURL, because: "“\(host)” and \(port) are no host and port to connect to.")
    }
    let configuration = context.configuration
    context.control.startTimers(
      idle: configuration.timeoutIntervalForRequest, resource: configuration.timeoutIntervalForResource)
    try await context.control.passGate()
    let stream = try await connect(to: name, port, in: context)
    // An open connection may be silent for as long as both sides like.
    context.control.stopTimers()
    return try await serve(streamTask, over: stream, to: StreamServer(host: name, port: port), in: context)
  }

  /// The host without the brackets that an IPv6 address may come in, and a name in ASCII; nil for what is no host.
  private static func connectableName(_ host: String) -> String? {
    var name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    if !name.utf8.allSatisfy({ $0 < 0x80 }), let url = URL(string: "https://\(name)/"),
      let target = try? HTTPTarget(url)
    {
      name = target.key.host
    }
    let address = name.prefix { $0 != "%" }
    return !name.isEmpty && HTTPTarget.isHost(name, isLiteral: IPAddressText(String(address)) != nil) ? name : nil
  }

  private func connect(to host: String, _ port: Int, in context: LoadContext) async throws -> any DuplexStream {
    var key = ConnectionKey(scheme: .http, host: host, port: port)
    key.forbiddenNetworks = context.configuration.forbiddenNetworks
    key.requiresDNSSEC = context.configuration.requiresDNSSECValidation
    key.trafficClass = TrafficClass(context.configuration.networkServiceType)
    var target = HTTPTarget(key)
    var routing = try await HTTPRouting.begin(&target, for: nil, as: .stream, in: context)
    while true {
      let ticket = context.transport.connect(to: target.key, on: context.executor)
      do {
        let stream = try await context.control.abortable(onAbort: { ticket.abort($0) }) { try await ticket.stream() }
        routing?.letThrough(target, in: context)
        return stream
      } catch TransportError.proxyFailed(let failure) where routing?.mayGoOn(after: failure) == true {
        try await routing?.goOn(after: failure, &target, in: context)
      } catch let error as TransportError
        where context.configuration.waitsForConnectivity && ConnectivityWait.isNeeded(for: error)
      { try await ConnectivityWait.wait(after: error, in: context) }
    }
  }
}
