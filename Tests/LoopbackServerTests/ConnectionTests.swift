import Foundation
import Glibc
import LoopbackServer
import Testing

@Suite struct ConnectionTests {
  @Test(arguments: [(ConnectionGreeting.close, PlainClient.Ending.closed), (.reset, .reset)])
  func greetsWithAnEnd(_ greeting: ConnectionGreeting, _ ending: PlainClient.Ending) async throws {
    var options = LoopbackServer.Options()
    options.greeting = { $0 == 1 ? greeting : .serve }
    let server = try await LoopbackServer.start(options: options) { _ in .ok("second time") }
    let client = try await PlainClient(port: server.port)
    #expect(try await client.receiveAll().ending == ending)
    #expect(try await curl(server.url().absoluteString).text == "second time")
    #expect(server.connectionCount == 2)
    #expect(server.requests.map(\.connection) == [2])
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func greetsWithSilence() async throws {
    var options = LoopbackServer.Options()
    options.greeting = { _ in .stall }
    let server = try await LoopbackServer.start(tls: .localhost(), options: options) { _ in .ok("") }
    let result = try await curl("--connect-timeout", "0.2", server.url("/", host: "localhost").absoluteString)
    // CURLE_OPERATION_TIMEDOUT: TCP connects, TLS never does.
    #expect(result.status == 28)
    #expect(server.heads.isEmpty)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func servesRawScripts() async throws {
    let server = try await LoopbackServer.startRaw { connection in
      while let bytes = try await connection.read() {
        try await connection.write("<" + String(buffer: bytes) + ">")
      }
    }
    let client = try await PlainClient(port: server.port)
    try await client.send("one")
    #expect(try await client.receiveText(5) == "<one>")
    try await client.send("two")
    #expect(try await client.receiveText(5) == "<two>")
    client.finishSending()
    #expect(try await client.receiveAll().ending == .closed)
    await server.shutdown()
  }

  @Test func answersAClientThatClosedItsSendingSide() async throws {
    var options = LoopbackServer.Options()
    options.allowsHalfClosedClients = true
    let server = try await LoopbackServer.start(options: options) { _ in Reply.ok("still here", type: "a/b").closing }
    let client = try await PlainClient(port: server.port)
    try await client.send("GET / HTTP/1.1\r\n\r\n")
    client.finishSending()
    #expect(try await client.receiveAll().text.hasSuffix("still here"))
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func dropsConnectionsAndGoesOn() async throws {
    let server = try await LoopbackServer.start { _ in .ok("x") }
    let client = try await PlainClient(port: server.port)
    try await client.send("GET / HTTP/1.1\r\n\r\n")
    _ = try await server.nextRequest()
    await server.dropConnections()
    #expect(try await client.receiveAll().ending == .closed)
    try await server.expectNoOpenConnections()
    #expect(try await curl(server.url().absoluteString).text == "x")
    await server.shutdown()
  }

  @Test func saysWhichConnectionsStayOpen() async throws {
    let server = try await LoopbackServer.start { _ in .ok("x") }
    let client = try await PlainClient(port: server.port)
    try await server.waitForOpenConnections(1)
    await #expect(throws: WaitExpired.self) {
      try await server.expectNoOpenConnections(within: .milliseconds(20))
    }
    _ = client
    await server.shutdown()
  }

  @Test func findsOpenFilesAndSockets() throws {
    let file = TemporaryFile()
    try Data("x".utf8).write(to: URL(fileURLWithPath: file.path))
    let handle = try #require(FileHandle(forReadingAtPath: file.path))
    #expect(try LeakCheck.openFiles(below: file.path).map(\.number) == [Int(handle.fileDescriptor)])
    try handle.close()
    #expect(try LeakCheck.openFiles(below: file.path).isEmpty)
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #expect(try LeakCheck.openDescriptors().first { $0.number == Int(descriptor) }?.kind == .socket)
    close(descriptor)
  }
}
