import Foundation
import Logging
import LoopbackServer
import NIOCore
import NIOPosix
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The whole service behind its real socket.
@Suite struct TransferDaemonTests {
  private let folder: TemporaryFolder
  private let configuration: TransferDaemon.Configuration

  init() throws {
    folder = try TemporaryFolder()
    var log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    configuration = .init(stateDirectory: folder.path + "/state", socketPath: folder.path + "/run/socket", log: log)
  }

  @Test func theSocketIsAccessibleToItsUserOnly() async throws {
    let daemon = try await TransferDaemon.start(configuration)
    var status = stat()
    #expect(lstat(configuration.socketPath, &status) == 0)
    #expect(status.st_mode & S_IFMT == S_IFSOCK && status.st_mode & 0o7777 == 0o600)
    #expect(lstat(folder.path + "/run", &status) == 0 && status.st_mode & 0o7777 == 0o700)
    #expect(lstat(configuration.stateDirectory, &status) == 0 && status.st_mode & 0o7777 == 0o700)
    await daemon.shutDown()
    #expect(lstat(configuration.socketPath, &status) != 0)
  }

  /// A service that has something to do from the beginning on does not rest before that is over.
  @Test func theMemoryOfTheStartIsGivenBack() async throws {
    let isGivenBack = Gate()
    var configuration = configuration
    configuration.settings.releasesMemory = { isGivenBack.open() }
    let daemon = try await TransferDaemon.start(configuration)
    try await isGivenBack.wait(within: patience)
    await daemon.shutDown()
  }

  @Test func aSecondServiceDoesNotStart() async throws {
    let daemon = try await TransferDaemon.start(configuration)
    await #expect(throws: TransferDaemon.AlreadyRunning.self) { _ = try await TransferDaemon.start(configuration) }
    // Nor may another one with its own socket use the same queue, or the other way round.
    var other = configuration
    other.socketPath = folder.path + "/run2/socket"
    await #expect(throws: TransferDaemon.AlreadyRunning.self) { _ = try await TransferDaemon.start(other) }
    other.socketPath = configuration.socketPath
    other.stateDirectory = folder.path + "/state2"
    await #expect(throws: TransferDaemon.AlreadyRunning.self) { _ = try await TransferDaemon.start(other) }
    await daemon.shutDown()
  }

  @Test func aSocketLeftByACrashIsReplaced() async throws {
    try PrivateDirectory.ensure(folder.path + "/run")
    #expect(FileManager.default.createFile(atPath: configuration.socketPath, contents: nil))
    let daemon = try await TransferDaemon.start(configuration)
    let client = try await SocketClient.connect(configuration.socketPath)
    #expect(try await client.ask(.hello(Hello(client: "tests"))) != nil)
    client.close()
    await daemon.shutDown()
  }

  @Test func anAppIsServedOverTheSocket() async throws {
    let resource = FileResource(size: 300_000)
    let server = try await LoopbackServer.start { resource.reply(to: $0) }
    let daemon = try await TransferDaemon.start(configuration)
    let client = try await SocketClient.connect(configuration.socketPath)
    _ = try await client.ask(.hello(Hello(client: "tests")))
    var options = SessionOptions()
    options.sessionSendsLaunchEvents = false
    _ = try await client.ask(.attach(Attach(session: "s", options: options)))
    _ = try await client.ask(.startDelivery(SessionReference(session: "s")))
    let creation = CreateTasks(session: "s", tasks: [.download(server.url("/f").absoluteString)])
    _ = try await client.ask(.createTasks(creation))
    let event = try await client.nextEvent()
    let download = try #require(event.download)
    #expect(resource.version.pattern.difference(toFile: download.path, count: 300_000) == nil)

    // We are alive and hold it; a second connection is another process as far as the session is concerned.
    let second = try await SocketClient.connect(configuration.socketPath)
    _ = try await second.ask(.hello(Hello(client: "tests")))
    guard case .refused(let refusal) = try await second.ask(.attach(Attach(session: "s"))) else {
      Issue.record("it was attached twice")
      return
    }
    #expect(refusal.reason == .inUse)
    client.close()
    second.close()
    await daemon.shutDown()
    await server.shutdown()
  }

  static let hostile: [[UInt8]] = [
    [0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff], [0, 0, 0, 2, 0x7b, 0x7d], Array("GET / HTTP/1.1\r\n\r\n".utf8),
    [0, 0, 0, 1, 0xff],
  ]

  @Test(arguments: hostile)
  func malformedBytesEndOnlyTheirConnection(bytes: [UInt8]) async throws {
    let daemon = try await TransferDaemon.start(configuration)
    let good = try await SocketClient.connect(configuration.socketPath)
    _ = try await good.ask(.hello(Hello(client: "tests")))
    let bad = try await SocketClient.connect(configuration.socketPath)
    bad.send(bytes)
    try await bad.closed.wait(within: patience)
    #expect(try await good.ask(.version) != nil)
    good.close()
    await daemon.shutDown()
  }

  @Test func manyRequestsAtOnceAreAnsweredInOrder() async throws {
    let daemon = try await TransferDaemon.start(configuration)
    let client = try await SocketClient.connect(configuration.socketPath)
    var bytes: [UInt8] = []
    for id in 1...500 { bytes += try MessageFraming.frame(ClientMessage(id: UInt64(id), request: .version)) }
    client.send(bytes)
    var ids: [UInt64] = []
    while ids.count < 500 {
      if case .reply(let id, _) = try await client.messages.next() { ids.append(id) }
    }
    #expect(ids == Array(1...500))
    client.close()
    await daemon.shutDown()
  }

  @Test func anAdoptedSocketIsServed() async throws {
    try PrivateDirectory.ensure(folder.path + "/run")
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(configuration.socketPath.utf8) + [0]) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0 && listen(descriptor, 5) == 0)
    var adopting = configuration
    adopting.adoptedSocket = descriptor
    let daemon = try await TransferDaemon.start(adopting)
    let client = try await SocketClient.connect(configuration.socketPath)
    #expect(try await client.ask(.hello(Hello(client: "tests"))) != nil)
    client.close()
    await daemon.shutDown()
    // The manager's socket is not ours to remove.
    #expect(FileManager.default.fileExists(atPath: configuration.socketPath))
  }
}

/// A bare client of the socket.
final class SocketClient: Sendable {
  let messages: Recorder<ServiceMessage>
  let closed = Gate()
  private let channel: any Channel

  private init(_ channel: any Channel, _ messages: Recorder<ServiceMessage>) {
    self.channel = channel
    self.messages = messages
    channel.closeFuture.whenComplete { [closed] _ in closed.open() }
  }

  /// Succeeds also when the service closes the connection at once.
  static func connect(_ path: String) async throws -> SocketClient {
    let messages = Recorder<ServiceMessage>()
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Reader(messages))
        }
      }
      .connect(unixDomainSocketPath: path).get()
    return SocketClient(channel, messages)
  }

  func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
  func close() { channel.close(promise: nil) }

  /// Sends open files, as an app does that was asked for them.
  func pass(_ files: [SourceFile]) async throws {
    try await channel.eventLoop.submit { [channel] in
      _ = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
        try FilePassing.send(files, over: $0)
      }
    }.get()
  }

  /// Asks for the creation of tasks, and passes the files when the service wants them. nil when the connection ends first.
  func create(_ tasks: [TransferDescription], passing files: [SourceFile]) async throws -> ServiceReply? {
    let creation = CreateTasks(session: "s", tasks: tasks, files: files.count)
    send(Array(try MessageFraming.frame(ClientMessage(id: 7, request: .createTasks(creation)))))
    while true {
      switch try await messages.next() {
      case .push(.sendFiles(let wanted)):
        #expect(wanted.request == 7)
        try await pass(files)
      case .reply(7, let reply): return reply
      case .push, .reply: break
      }
    }
  }

  /// Waits until the service asks for files.
  func filesWanted() async throws {
    while true {
      if case .push(.sendFiles) = try await messages.next() { return }
    }
  }

  /// The reply to a request, pushes passed over. nil when the connection ends first.
  func ask(_ request: ClientRequest) async throws -> ServiceReply? {
    send(Array(try MessageFraming.frame(ClientMessage(id: 1, request: request))))
    while true {
      if case .reply(_, let reply) = try await messages.next() { return reply }
    }
  }

  func nextEvent() async throws -> SequencedEvent {
    while true {
      if case .push(.event(let event)) = try await messages.next() { return event }
    }
  }

  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private var decoder = MessageDecoder<ServiceMessage>()
    private let messages: Recorder<ServiceMessage>

    init(_ messages: Recorder<ServiceMessage>) { self.messages = messages }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      decoder.append(unwrapInboundIn(data).readableBytesView)
      while let message = try? decoder.next() { messages.record(message) }
    }
  }
}
