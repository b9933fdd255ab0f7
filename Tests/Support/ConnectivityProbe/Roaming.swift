import Foundation
import LoopbackServer
import URLLoadingSystem

/// `roam MODE URL COUNT FROM TO DEVICE` loads numbers over HTTP/3 from a server, and moves the device from one address to
/// another in the middle. Prints what arrived, and how the server saw the client before and behind that.
///
/// With `softly` the way to the server leads over the other address, while the first one is still there; with `abruptly` the
/// first one goes, and the other one comes when the system has closed the connection's socket.
enum Roaming {
  static func run(_ arguments: [String]) async throws {
    guard arguments.count == 6, let url = URL(string: arguments[1]), let count = Int(arguments[2]) else {
      throw CocoaError(.featureUnsupported)
    }
    let (mode, from, to, device) = (arguments[0], arguments[3], arguments[4], arguments[5])
    let session = URLSession(configuration: .ephemeral, delegate: TrustingDelegate(), delegateQueue: nil)
    let before = try await text(session, url.appending(path: "peer"))
    let (bytes, _) = try await session.bytes(for: request(url.appending(path: "numbers/\(count)")))
    var numbers = Numbers()
    var iterator = bytes.makeAsyncIterator()
    while numbers.count < 1 << 20, let byte = try await iterator.next() { numbers.add(byte) }
    var disturber: Task<Void, Never>?
    if mode == "softly" {
      try ConnectivityProbe.run("ip", "address", "add", to + "/32", "dev", device)
      let network = from.split(separator: ".").dropLast().joined(separator: ".") + ".0/24"
      try ConnectivityProbe.run("ip", "route", "replace", network, "dev", device, "src", to)
    } else {
      try ConnectivityProbe.run("ip", "address", "delete", from + "/24", "dev", device)
      // Sent in vain, where nothing else was.
      disturber = Task { _ = try? await text(session, url.appending(path: "hello")) }
      let port = ":" + String(format: "%04X", url.port ?? 0)
      try await eventually("the socket to close") {
        try !String(contentsOfFile: "/proc/self/net/udp", encoding: .utf8).contains(port)
      }
      try ConnectivityProbe.run("ip", "address", "add", to + "/24", "dev", device)
    }
    while let byte = try await iterator.next() { numbers.add(byte) }
    await disturber?.value
    let after = try await text(session, url.appending(path: "peer"))
    print("\(before)\nbytes=\(numbers.count) wrong=\(numbers.wrong)\n\(after)")
    session.invalidateAndCancel()
  }

  private static func request(_ url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    request.assumesHTTP3Capable = true
    return request
  }

  private static func text(_ session: URLSession, _ url: URL) async throws -> String {
    String(decoding: try await session.data(for: request(url)).0, as: UTF8.self)
  }

  /// Numbers of four bytes, the least significant first, that count up from 0.
  private struct Numbers {
    var count = 0
    var wrong = 0

    mutating func add(_ byte: UInt8) {
      if byte != UInt8(truncatingIfNeeded: (count / 4) >> (count % 4 * 8)) { wrong += 1 }
      count += 1
    }
  }
}

/// The server has no certificate for its address here.
private final class TrustingDelegate: NSObject, URLSessionDelegate, Sendable {
  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    guard let trust = challenge.protectionSpace.serverTrust else {
      return completionHandler(.performDefaultHandling, nil)
    }
    completionHandler(.useCredential, URLCredential(trust: trust))
  }
}
