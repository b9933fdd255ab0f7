import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import RealServers
import SystemServices
import Testing
import URLLoadingSystem

/// HTTP/3 over networks that lose, repeat, delay and change datagrams, and through attackers who send their own.
@Suite(.fewAtATime, .enabled(if: HTTP3Support.runsHere && PythonHTTP3.server.runsHere, "\(HTTP3Support.advice)"))
struct HTTP3NetworkTests {
  private func withRelay(
    options: DatagramRelay.Options = .init(), retry: Bool = false,
    _ body: (DatagramRelay, URLSession, TransactionLog) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await PythonHTTP3.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile), retry: retry)
    let relay = try await DatagramRelay.start(to: server.port, options: options)
    try await HTTP3Support.withSession(trusting: identity.authorityFile, ports: [relay.port]) { session, log in
      try await body(relay, session, log)
    } finally: {
      await relay.close()
      await server.stop()
    }
  }

  private func request(_ relay: DatagramRelay, _ path: String) throws -> URLRequest {
    HTTP3Support.request(try #require(URL(string: "https://127.0.0.1:\(relay.port)\(path)")))
  }

  struct Network: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let course: DatagramCourse

    init(_ name: String, _ change: (inout DatagramCourse) -> Void) {
      var course = DatagramCourse(seed: 42)
      change(&course)
      testDescription = name
      self.course = course
    }

    static let all = [
      Network("lossy") { $0.loss = 0.03 },
      Network("very lossy") { $0.loss = 0.15 },
      Network("repeating") { $0.duplication = 0.3 },
      Network("overtaking") { $0.reordering = 0.2 },
      Network("corrupting") { $0.corruption = 0.05 },
      Network("slow") { $0.milliseconds = 40 },
      Network("bad in every way") {
        ($0.loss, $0.duplication, $0.reordering, $0.corruption) = (0.03, 0.05, 0.1, 0.02)
        $0.milliseconds = 10
      },
      Network("losing the first request") { $0.firstLost = (1, 0) },
      Network("losing the first answers") { $0.firstLost = (0, 3) },
      Network("losing the beginning") { $0.firstLost = (2, 2) },
    ]
  }

  /// Bodies arrive whole in both directions, over one connection.
  @Test(arguments: Network.all) func bodiesArriveWhole(_ network: Network) async throws {
    var options = DatagramRelay.Options()
    options.course = network.course
    try await withRelay(options: options) { relay, session, log in
      let size = 1 << 20
      let (numbers, _) = try await session.data(for: request(relay, "/numbers/\(size)"))
      #expect(numbers.count == size)
      let isInOrder = numbers.enumerated().allSatisfy { offset, byte in
        byte == UInt8(truncatingIfNeeded: (offset / 4) >> (offset % 4 * 8))
      }
      #expect(isInOrder)
      var upload = try request(relay, "/echo")
      upload.httpMethod = "POST"
      let body = BytePattern(seed: 9).bytes(count: size)
      let (answer, _) = try await session.upload(for: upload, from: Data(body))
      #expect(answer.count == size && BytePattern(seed: 9).matches(answer))
      #expect(log.protocols == ["h3"])
      #expect(Set(log.all.compactMap(\.localPort)).count == 1)
    }
  }

  struct Forgery: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let datagrams: @Sendable (LongHeader) -> [[UInt8]]

    static let all = [
      Forgery(testDescription: "a Retry packet with a wrong tag") { header in
        // A token of 16 bytes and the tag.
        [header.packet(0xf0, [UInt8](repeating: 7, count: 32))]
      },
      Forgery(testDescription: "a stateless reset with a wrong token") { _ in
        [[0x41] + [UInt8](repeating: 5, count: 60)]
      },
      Forgery(testDescription: "an Initial packet that can't be read") { header in
        // No token, and the length of the rest.
        [header.packet(0xc3, [0, 0x44, 0xb0] + [UInt8](repeating: 3, count: 1_200))]
      },
      Forgery(testDescription: "nonsense") { _ in
        var generator = SeededGenerator(seed: 3)
        return (0..<50).map { _ in
          (0..<Int.random(in: 1...1_400, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
      },
    ]
  }

  /// The ends of a connection as a packet with a long header names them (RFC 8999 §5.1).
  struct LongHeader {
    let version: [UInt8]
    /// The connection IDs of an answer, each behind its length.
    let answered: [UInt8]

    init?(_ bytes: [UInt8]) {
      guard bytes.count > 6, bytes[0] & 0x80 != 0 else { return nil }
      let destination = bytes[5...].prefix(1 + Int(bytes[5]))
      guard let length = bytes[destination.endIndex...].first else { return nil }
      let source = bytes[destination.endIndex...].prefix(1 + Int(length))
      version = Array(bytes[1..<5])
      answered = Array(source) + Array(destination)
    }

    /// An answer.
    func packet(_ first: UInt8, version other: [UInt8]? = nil, _ rest: [UInt8]) -> [UInt8] {
      var packet = [first]
      packet += other ?? version
      packet += answered
      packet += rest
      return packet
    }
  }

  /// Forged answers that come before the server's are passed over.
  @Test(arguments: Forgery.all) func forgedDatagramsDoNoHarm(_ forgery: Forgery) async throws {
    var options = DatagramRelay.Options()
    options.forge = { LongHeader($0).map(forgery.datagrams) ?? [] }
    try await withRelay(options: options) { relay, session, log in
      let (data, _) = try await session.data(for: request(relay, "/hello"))
      #expect(String(decoding: data, as: UTF8.self) == "hello over QUIC")
      #expect(log.protocols == ["h3"] && relay.clients == 1)
    }
  }

  @Test func aServerThatValidatesAddressesIsReachedOverALossyNetwork() async throws {
    var options = DatagramRelay.Options()
    options.course = DatagramCourse(seed: 5)
    options.course.firstLost = (1, 1)
    options.course.loss = 0.1
    try await withRelay(options: options, retry: true) { relay, session, log in
      for _ in 0..<5 {
        let (data, _) = try await session.data(for: request(relay, "/hello"))
        #expect(String(decoding: data, as: UTF8.self) == "hello over QUIC")
      }
      #expect(log.protocols == ["h3"])
    }
  }

  // MARK: Beside TCP

  /// A relay in front of a server of HTTP/3, on the port where another server answers over TCP.
  private func withRelayBesideTCP(
    options: DatagramRelay.Options = .init(), headStart: TimeAmount = .milliseconds(250),
    _ body: (DatagramRelay, URLSession, TransactionLog) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let tls = TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    let python = try await PythonHTTP3.start(tls: tls)
    let caddy = try await Caddy.start(tls: tls, protocols: "h1 h2")
    try "over TCP".write(toFile: caddy.documentRoot + "/hello", atomically: false, encoding: .utf8)
    var options = options
    options.port = try #require(caddy.securePort)
    let relay = try await DatagramRelay.start(to: python.port, options: options)
    try await HTTP3Support.withSession(
      trusting: identity.authorityFile, ports: [relay.port], headStart: headStart
    ) { session, log in
      try await body(relay, session, log)
    } finally: {
      await relay.close()
      await caddy.stop()
      await python.stop()
    }
  }

  /// RFC 9000 §6.2: a client that speaks none of the versions gives the connection up. Such a packet may be forged.
  @Test func aServerOfOtherVersionsIsLoadedOverTCP() async throws {
    var options = DatagramRelay.Options()
    options.forge = { first in
      guard let header = LongHeader(first) else { return [] }
      return [header.packet(0x80, version: [0, 0, 0, 0], [0x1a, 0x2a, 0x3a, 0x4a])]
    }
    try await withRelayBesideTCP(options: options, headStart: .seconds(60)) { relay, session, log in
      for _ in 0..<2 {
        let (data, _) = try await session.data(for: request(relay, "/hello"))
        #expect(String(decoding: data, as: UTF8.self) == "over TCP")
      }
      // The second request remembers.
      #expect(log.protocols == ["h2"] && relay.clients == 1)
    }
  }

  /// A network that drops all datagrams in the middle of a load costs this load, and the next one takes TCP.
  @Test func aNetworkThatBeginsToDropDatagramsIsLeft() async throws {
    try await withRelayBesideTCP { relay, session, log in
      var large = try request(relay, "/numbers/\(32 << 20)")
      large.timeoutInterval = 2
      let (bytes, _) = try await session.bytes(for: large)
      var count = 0
      let failure = await #expect(throws: URLError.self) {
        for try await _ in bytes {
          count += 1
          if count == 1 << 20 { relay.block() }
        }
      }
      #expect(failure?.code == .timedOut)
      #expect(count < 32 << 20)
      let (data, _) = try await session.data(for: request(relay, "/hello"))
      #expect(String(decoding: data, as: UTF8.self) == "over TCP")
      #expect(log.protocols == ["h3", "h2"])
    }
  }
}
