import Foundation
import Testing

@testable import SystemServices

@Suite struct ServiceManagerTests {
  static let activations: [(environment: [String: String], descriptors: [Int32])] = [
    ([:], []),
    (["LISTEN_PID": "10", "LISTEN_FDS": "1"], [3]),
    (["LISTEN_PID": "10", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "a:b"], [3, 4]),
    (["LISTEN_PID": "11", "LISTEN_FDS": "1"], []),
    (["LISTEN_FDS": "1"], []),
    (["LISTEN_PID": "10"], []),
    (["LISTEN_PID": "10", "LISTEN_FDS": "0"], []),
    (["LISTEN_PID": "10", "LISTEN_FDS": "-1"], []),
    (["LISTEN_PID": "10", "LISTEN_FDS": "99999999999999"], []),
    (["LISTEN_PID": "10", "LISTEN_FDS": "1000"], []),
    (["LISTEN_PID": "ten", "LISTEN_FDS": "1"], []),
  ]

  @Test(arguments: activations)
  func socketsForAnotherProcessAreIgnored(environment: [String: String], descriptors: [Int32]) {
    #expect(SocketActivation.descriptors(environment: environment, pid: 10) == descriptors)
  }

  @Test func onlyAListeningUnixSocketIsTaken() {
    let plain = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let file = open("/dev/null", O_RDONLY)
    defer {
      close(plain)
      close(file)
    }
    #expect(!SocketActivation.isListeningUnixSocket(plain))
    #expect(!SocketActivation.isListeningUnixSocket(file))
    // Listening without an address gives the socket an automatic abstract one.
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(plain, $0, 2) }
    }
    #expect(bound == 0 && listen(plain, 1) == 0)
    #expect(SocketActivation.isListeningUnixSocket(plain))
  }

  /// Binds a datagram socket to `name` and returns what `send` puts into it.
  private func received(at name: String, _ send: () -> Void) throws -> String {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(2 + bytes.count)) }
    }
    try #require(bound == 0)
    send()
    var buffer = [UInt8](repeating: 0, count: 100)
    let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  @Test(arguments: [true, false])
  func readinessReachesTheManager(abstract: Bool) throws {
    let name = (abstract ? "@" : NSTemporaryDirectory()) + "notify-\(UUID().uuidString)"
    defer { unlink(name) }
    let text = try received(at: name) { ServiceNotifier(environment: ["NOTIFY_SOCKET": name]).ready() }
    #expect(text == "READY=1")
  }

  @Test func statusIsSentAsOneLine() throws {
    let name = "@notify-\(UUID().uuidString)"
    let text = try received(at: name) { ServiceNotifier(environment: ["NOTIFY_SOCKET": name]).status("a\nREADY=1") }
    #expect(text == "STATUS=a READY=1")
  }

  @Test(arguments: [nil, "", "relative", "/none/socket", "/" + String(repeating: "x", count: 200)])
  func withoutAManagerNothingIsSent(name: String?) {
    let notifier = ServiceNotifier(environment: name.map { ["NOTIFY_SOCKET": $0] } ?? [:])
    #expect(!notifier.send("READY=1"))
  }

  static let watchdogs: [(environment: [String: String], interval: TimeInterval?)] = [
    (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "2500000"], 2.5),
    (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "2500000", "WATCHDOG_PID": "7"], 2.5),
    (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "2500000", "WATCHDOG_PID": "8"], nil),
    (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "0"], nil),
    (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "-5"], nil),
    (["WATCHDOG_USEC": "2500000"], nil),
  ]

  @Test(arguments: watchdogs)
  func theWatchdogIsReadFromTheEnvironment(environment: [String: String], interval: TimeInterval?) {
    #expect(ServiceNotifier(environment: environment, pid: 7).watchdogInterval == interval)
  }
}
