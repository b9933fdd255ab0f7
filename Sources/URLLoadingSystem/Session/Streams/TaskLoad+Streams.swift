import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// A stream task: the connection, then what the app asks of it.
extension TaskLoad {
  func serve(_ task: URLSessionStreamTask, in context: LoadContext) async throws -> Received {
    if let lane = delivery?.lane { task.operations.use(lane) }
    guard case .host(let host, let port) = task.source else { throw URLError(.unknown) }
    guard let name = TaskLoad.connectableName(host), (1...65_535).contains(port) else {
      throw ErrorMapping.make(.badURL, because: "“\(host)” and \(port) are no host and port to connect to.")
    }
    let configuration = context.configuration
    context.control.startTimers(
      idle: configuration.timeoutIntervalForRequest, resource: configuration.timeoutIntervalForResource)
    try await context.control.passGate()
    let stream = try await connect(to: name, port, in: context)
    // An open connection may be silent for as long as both sides like.
    context.control.stopTimers()
    return try await converse(task, over: stream, in: context) {
      try await self.secure(stream, host: name, port, in: context)
    }
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

  /// Makes `stream` a TLS connection. The task's delegate is asked, as for any connection of a task.
  private func secure(_ stream: any DuplexStream, host: String, _ port: Int, in context: LoadContext) async throws {
    let handshake = LoadHandshake(context, host: host, port: port, isForHTTP: false)
    try await stream.startTLS(
      TLSTerms(host: host, port: port, handshake: handshake, transport: context.transport))
  }

  /// A response has become a stream task.
  func serve(
    _ task: URLSessionStreamTask, _ loaded: LoadedResponse, in context: LoadContext
  ) async throws -> Received {
    if let lane = delivery?.lane { task.operations.use(lane) }
    let stream: any DuplexStream
    do { stream = try await loaded.body.takeOver() } catch {
      // HTTP delimits what comes: there is nothing to write to.
      stream = ResponseStream(loaded.body)
      task.operations.add(.closeWrite)
    }
    context.control.stopTimers()
    return try await converse(task, over: stream, in: context) {
      guard let url = task.presentRequest?.url, let host = url.host else { throw URLError(.badURL) }
      let port = url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80)
      try await self.secure(stream, host: host, port, in: context)
    }
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
        return try await context.control.abortable(onAbort: { ticket.abort($0) }) { try await ticket.stream() }
      } catch TransportError.proxyFailed(let failure) where routing?.mayGoOn(after: failure) == true {
        try await routing?.goOn(after: failure, &target, in: context)
      } catch let error as TransportError
        where context.configuration.waitsForConnectivity && ConnectivityWait.isNeeded(for: error)
      { try await ConnectivityWait.wait(after: error, in: context) }
    }
  }

  /// Does what the app asks of `stream`, until there is nothing left to do.
  func converse(
    _ task: URLSessionStreamTask, over stream: any DuplexStream, in context: LoadContext,
    secure: @escaping () async throws -> Void
  ) async throws -> Received {
    let session = self.session
    let conversation = StreamConversation(task: task, stream: stream, context: context, secure: secure) {
      [delivery] notice in
      switch notice {
      case .readClosed: delivery?.post(.readClosed) { $0.stream?.urlSession(session, readClosedFor: task) }
      case .writeClosed: delivery?.post(.writeClosed) { $0.stream?.urlSession(session, writeClosedFor: task) }
      }
    }
    guard case .captured(let unread) = try await conversation.run() else { return .nothing }
    do { try await handOver(stream, unread, of: task, in: context) } catch {
      stream.close()
      throw error
    }
    return .nothing
  }

  /// The connection becomes two streams of the app's, and the task is silent from then on.
  private func handOver(
    _ stream: any DuplexStream, _ unread: ByteBuffer, of task: URLSessionStreamTask, in context: LoadContext
  ) async throws {
    let (local, descriptor) = try await StreamPair.open(on: context.executor)
    let executor = context.executor
    let relay = StreamRelay(local, stream, on: context.loop)
    let socket = CapturedSocket(descriptor) { executor.loop.execute { relay.abandon() } }
    let note: @Sendable (any Error) -> Void = { [weak socket] in socket?.note($0) }
    Task(executorPreference: executor) { await relay.run(first: unread, on: executor, onFailure: note) }
    let streams = CapturedStreams(input: CapturedInputStream(socket), output: CapturedOutputStream(socket))
    let session = self.session
    delivery?.post(.becameStreams) {
      $0.stream?.urlSession(session, streamTask: task, didBecome: streams.input, outputStream: streams.output)
    }
    task.lockedState.withLock { $0.outcome = .reported }
  }
}

/// Two streams on their way to the one delegate that gets them.
private struct CapturedStreams: @unchecked Sendable {
  let input: InputStream
  let output: OutputStream
}
