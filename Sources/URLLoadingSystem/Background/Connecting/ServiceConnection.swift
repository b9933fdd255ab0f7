import Foundation
import HTTPTransport
import NIOCore
import SystemServices
import TransferProtocol

/// A conversation with the transfer service over its Unix socket: requests, replies that are
/// matched to them by number, and pushes.
///
/// May be used from any thread; the socket lives on one event loop, and `onPush` and `onClose` are called there.
package final class ServiceConnection: Sendable {
  private let channel: any Channel
  private let handler: ServiceConnectionHandler
  /// The service's greeting.
  package let service: ServiceVersion
  /// The version of the protocol that both sides speak.
  package let version: Int

  private init(channel: any Channel, handler: ServiceConnectionHandler, service: ServiceVersion, version: Int) {
    self.version = version
    self.channel = channel
    self.handler = handler
    self.service = service
  }

  deinit { channel.close(promise: nil) }

  /// How long the service may take for an answer that the use of a session waits for. It reads and writes its queue,
  /// which takes milliseconds, and seconds on a busy disk.
  package static let patience: TimeAmount = {
    #if DEBUG
    // Tests shorten it.
    if let seconds = ProcessInfo.processInfo.environment["URLSESSIOND_REQUEST_WAIT"].flatMap({ Double($0) }) {
      return .milliseconds(Int64(seconds * 1_000))
    }
    #endif
    return .seconds(30)
  }()

  /// The same for a request that is sent again over the next connection.
  package static let patienceOfCommands = min(patience, .seconds(15))

  /// Connects and greets. Starts the service when none runs, unless `startsService` is false.
  ///
  /// - Parameters:
  ///   - environment: names the socket and the program, as `ServiceLocation` reads them.
  ///   - patience: how long a service that has accepted the connection may take to greet, and how long it may send nothing
  ///     while a request waits.
  /// - Throws: `ServiceUnavailable` when there is no service and none could be started, when it does not greet, or when
  ///   what listens is not to be trusted; `Refusal` when the two sides have no version in common.
  package static func open(
    startsService: Bool = true, environment: [String: String] = ProcessInfo.processInfo.environment,
    patience: TimeAmount = ServiceConnection.patience,
    onPush: @escaping @Sendable (ServicePush) -> Void = { _ in }, onClose: @escaping @Sendable () -> Void = {}
  ) async throws -> ServiceConnection {
    // A service that is about to end says so; the next one is there a moment later.
    let deadline = ContinuousClock.now + .seconds(5)
    while true {
      do {
        return try await openOnce(
          startsService: startsService, environment: environment, patience: patience, onPush: onPush, onClose: onClose)
      } catch let refusal as Refusal where refusal.reason == .shuttingDown && ContinuousClock.now < deadline {
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  private static func openOnce(
    startsService: Bool, environment: [String: String], patience: TimeAmount,
    onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void
  ) async throws -> ServiceConnection {
    let location = try await BlockingWork.files { try ServiceLocation(environment: environment) }
    let launcher = ServiceLauncher(location: location, environment: environment)
    do {
      return try await openOnce(
        launcher, startsService: startsService, patience: patience, onPush: onPush, onClose: onClose)
    } catch var error as ServiceUnavailable {
      error.hasQueue = (try? await BlockingWork.files { location.hasQueue }) ?? false
      if error.isSilent, startsService { launcher.tellSupervisor() }
      throw error
    }
  }

  private static func openOnce(
    _ launcher: ServiceLauncher, startsService: Bool, patience: TimeAmount,
    onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void
  ) async throws -> ServiceConnection {
    let handler = ServiceConnectionHandler(patience: patience, onPush: onPush, onClose: onClose) {
      if startsService { launcher.tellSupervisor() }
    }
    let (channel, socket) =
      try await launcher
      .connect(startsService: startsService) { path in try await handler.connect(to: path) }
    let greeting = ClientRequest.hello(Hello(client: "URLLoadingSystem"))
    do {
      let listener = try await handler.peer(of: channel)
      try await BlockingWork.files {
        try ServicePeer.check(listener, folder: (socket as NSString).deletingLastPathComponent)
      }
      let timer = handler.close(channel, in: patience)
      defer { timer.cancel() }
      guard case .hello(let hello) = try await handler.request(greeting, on: channel) else {
        throw ServiceUnavailable(reason: "what listens on \(socket) is not the transfer service")
      }
      return ServiceConnection(channel: channel, handler: handler, service: hello.service, version: hello.version)
    } catch {
      channel.close(promise: nil)
      throw error
    }
  }

  /// Sends one request and waits for its reply. Throws the service's `Refusal`, or `ServiceUnavailable` when the
  /// connection ends first. A service that sends nothing for the time of `patience` and does not answer a question in
  /// between is taken for one that hangs, and the connection ends.
  ///
  /// - Parameters:
  ///   - files: the open files that the request announces. They may be closed when this returns.
  ///   - meanwhile: done before the reply is awaited; on the connection's loop when the request was written.
  package func request(
    _ request: ClientRequest, passing files: [SourceFile] = [], meanwhile: () -> Void = {}
  ) async throws -> ServiceReply {
    try await handler.request(request, passing: files, on: channel, meanwhile: meanwhile)
  }

  package func close() { channel.close(promise: nil) }
}
