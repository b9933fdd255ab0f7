import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// What changes while an HTTP/2 connection is in use: priorities, limits, and whether it is good enough at all.
@Suite struct HTTP2ChangeTests {
  private func withPeer(
    _ script: @escaping @Sendable (HTTP2Peer) async throws -> Void,
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let server = try await HTTP2Peer.start(script: script)
    let configuration = URLSessionConfiguration.loopback
    configuration.httpMaximumConnectionsPerHost = 1
    let session = URLSession(configuration: configuration)
    do { try await body(server, session) } catch {
      session.invalidateAndCancel()
      await server.shutdown()
      throw error
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// RFC 9218 §7.1: a server that has the request is told of its new priority, unless the app speaks for itself.
  @Test(arguments: [nil, "u=2, i"]) func aNewPriorityIsTold(_ own: String?) async throws {
    let asked = Recorder<[String: String]>()
    let told = Recorder<String>()
    try await withPeer({ peer in
      try await peer.greet()
      guard let (stream, fields) = try await peer.request() else { return }
      asked.record(fields)
      // An update, or the second request.
      while let frame = try await peer.read() {
        if frame.type == 0x10 {
          #expect(frame.stream == 0 && frame.payload.prefix(4).elementsEqual(HTTP2Peer.bigEndian(stream)))
          told.record(String(decoding: frame.payload.dropFirst(4), as: UTF8.self))
        }
        guard frame.type == 0x10 && told.count == 2 || frame.type == 1 else { continue }
        try await peer.answer(frame.type == 1 ? frame.stream : stream, "done")
        if frame.type == 1, own != nil { try await peer.answer(stream, "done") }
      }
    }) { server, session in
      var request = URLRequest(url: server.url())
      if let own { request.setValue(own, forHTTPHeaderField: "Priority") }
      let ended = Recorder<String>()
      let task = session.dataTask(with: request) { data, _, _ in
        ended.record(String(decoding: data ?? Data(), as: UTF8.self))
      }
      task.resume()
      let priority = try await asked.next()["priority"]
      #expect(priority == own)
      task.priority = URLSessionTask.highPriority
      if own == nil { _ = try await told.first(1) }
      // Too small a step to be said.
      task.priority = 0.76
      task.priority = URLSessionTask.defaultPriority
      if own != nil { _ = try await session.data(from: server.url("/second")) }
      let answer = try await ended.next()
      #expect(answer == "done")
      #expect(told.all == (own == nil ? ["u=1", "u=3"] : []))
    }
  }

  /// A server may take fewer streams from now on: those that are there stay, the next waits until there is room.
  @Test func aLimitThatFalls() async throws {
    let lowered = Gate()
    let third = Gate()
    let order = Recorder<String>()
    try await withPeer({ peer in
      try await peer.greet([(3, 2)])
      guard let (one, _) = try await peer.request(), let (two, _) = try await peer.request() else { return }
      try await peer.write(.init(type: 4, payload: [0, 3, 0, 0, 0, 1]))
      while let frame = try await peer.read(type: 4), frame.flags != 1 {}
      lowered.open()
      try await third.wait()
      for stream in [one, two] {
        try await peer.answer(stream, "early")
        try await peer.write(.init(type: 6, payload: Array(repeating: 0, count: 8)))
        while let frame = try await peer.read() {
          if frame.type == 1 {
            order.record("third")
            try await peer.answer(frame.stream, "late")
          }
          if frame.type == 6, frame.flags == 1 { break }
        }
        order.record("answered")
      }
      while let frame = try await peer.read() {
        guard frame.type == 1 else { continue }
        order.record("third")
        try await peer.answer(frame.stream, "late")
      }
    }) { server, session in
      async let one = session.data(from: server.url("/1"))
      async let two = session.data(from: server.url("/2"))
      try await lowered.wait(within: patience)
      async let last = session.data(from: server.url("/3"))
      third.open()
      let answers = [try await one.0, try await two.0, try await last.0]
      #expect(answers == ["early", "early", "late"].map { Data($0.utf8) })
      // The first answer makes no room yet.
      #expect(order.all.first == "answered")
      #expect(server.connectionCount == 1)
    }
  }

  /// RFC 9113 §9.2.2: over a suite of Appendix A's list nothing is sent.
  @Test func aWeakCipherSuiteIsRefused() async throws {
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = ["h2"]
    tls.maximumVersion = .tlsv12
    tls.cipherSuites = "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA"
    let reasons = Recorder<[UInt8]>()
    let server = try await LoopbackServer.startRaw(tls: tls) { connection in
      let peer = HTTP2Peer(connection)
      guard try await connection.read(exactly: 24) != nil, let frame = try await peer.read(type: 7) else { return }
      reasons.record(Array(frame.payload.suffix(4)))
      while try await connection.read() != nil {}
    }
    let session = URLSession(configuration: .loopback)
    let error = await #expect(throws: URLError.self) { try await session.data(from: server.url()) }
    #expect(error?.code == .secureConnectionFailed)
    let reason = try await reasons.next()
    #expect(reason == [0, 0, 0, 0xc])
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}
