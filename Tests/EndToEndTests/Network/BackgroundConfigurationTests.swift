import Foundation
import LoopbackServer
import RealServers
import Testing
import TransferScript

/// Properties of an app's configuration and their effect in the service.
@Suite(.fewAtATime) struct BackgroundConfigurationTests {
  @Test func proxyConfigurationsAreUsedByTheService() async throws {
    let proxy = try await LoopbackServer.startRaw { connection in
      #expect(try await connection.readHead().hasPrefix("CONNECT one.example:80 HTTP/1.1\r\n"))
      try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
      #expect(try await connection.readHead().hasPrefix("GET /f HTTP/1.1\r\n"))
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nproxied")
    }
    try await Home.run { home in
      try home.plan { $0.proxyPort = UInt16(proxy.port) }
      let app = try await home.start()
      try await app.tell(.download(url: "http://one.example/f", label: "f"))
      try await home.log().waitFor(.didComplete, label: "f")
      #expect(FileManager.default.contents(atPath: home.app().file("f")) == Data("proxied".utf8))
      try await home.expectNothingKept()
      try await app.quit()
    }
    #expect(proxy.connectionCount == 1 && proxy.failures.isEmpty)
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// Only the resolver that proves names knows this one: it is reached because the service asks that resolver.
  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func requiresDNSSECValidationIsFollowedByTheService() async throws {
    let loopback: [UInt8] = [127, 0, 0, 1]
    let resolver = try await MockResolved.start([
      .init("signed.test", loopback, isProven: true), .init("plain.test", loopback, isProven: false),
    ])
    let server = try await LoopbackServer.start { _ in .ok("here") }
    try await Home.run(["DBUS_SYSTEM_BUS_ADDRESS": resolver.address]) { home in
      try home.plan { $0.requiresDNSSECValidation = true }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/plain", host: "plain.test").absoluteString, label: "plain"))
      try await app.tell(.download(url: server.url("/signed", host: "signed.test").absoluteString, label: "signed"))
      try await home.log().waitFor(.didComplete, label: "signed")
      try await app.tell(.cancel(label: "plain"))
      let end = try await home.log().waitFor(.didComplete, label: "plain")
      #expect(end.error == URLError.Code.cancelled.rawValue)
      #expect(server.requests.map(\.path) == ["/signed"])
      try await home.expectNothingKept()
      try await app.quit()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
    await resolver.stop()
  }

  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func aDiscretionarySessionWaitsForANetworkThatCostsNothing() async throws {
    let machine = try await MockMachine.start()
    try await MockMachine.make(.isMetered, machine)
    let server = try await LoopbackServer.start { _ in .ok("here") }
    try await Home.run(["DBUS_SYSTEM_BUS_ADDRESS": machine.address]) { home in
      try home.plan { $0.isDiscretionary = true }
      let app = try await home.start()
      try await app.tell(.download(url: server.url("/f").absoluteString, label: "f"))
      try await eventually("the service to hold the transfer") {
        home.serviceLog.contains("It can wait, and does so while the network")
      }
      #expect(server.requests.isEmpty)
      try await MockMachine.make(.isNotMetered, machine)
      try await home.log().waitFor(.didComplete, label: "f")
      #expect(server.requests.map(\.path) == ["/f"])
      try await home.expectNothingKept()
      try await app.quit()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
    await machine.stop()
  }

  /// What no message can hold fails the task in the app.
  @Test func aRelayIsRefusedWhereTheTaskIsMade() async throws {
    try await Home.run { home in
      try home.plan { $0.usesRelay = true }
      let app = try await home.start()
      try await app.tell(.download(url: "http://one.example/f", label: "f"))
      let end = try await home.log().waitFor(.didComplete, label: "f")
      #expect(end.error == URLError.Code.cannotConnectToHost.rawValue)
      try await app.quit()
    }
  }
}
