import Foundation
import Glibc

struct SocketError: Error {
  let code: Int32
}

/// A client that is nothing but a blocking socket, so that what a server really sends can be seen byte by byte. Each
/// call runs on a thread of its own.
final class PlainClient: Sendable {
  enum Ending: Equatable {
    case closed
    case reset
  }

  private let descriptor: Int32

  init(port: Int) async throws {
    descriptor = try await onThread {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      guard descriptor >= 0 else { throw SocketError(code: errno) }
      var patience = timeval(tv_sec: 90, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 else {
        let code = errno
        close(descriptor)
        throw SocketError(code: code)
      }
      return descriptor
    }
  }

  deinit {
    close(descriptor)
  }

  func send(_ text: String) async throws {
    try await send(Array(text.utf8))
  }

  func send(_ bytes: [UInt8]) async throws {
    try await onThread { [descriptor] in
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { throw SocketError(code: errno) }
        sent += count
      }
    }
  }

  /// Exactly `count` bytes, or fewer when the server ended before.
  func receive(_ count: Int) async throws -> [UInt8] {
    try await onThread { [descriptor] in
      var bytes: [UInt8] = []
      while bytes.count < count {
        var piece = [UInt8](repeating: 0, count: min(65536, count - bytes.count))
        let received = recv(descriptor, &piece, piece.count, 0)
        guard received >= 0 else { throw SocketError(code: errno) }
        if received == 0 { break }
        bytes += piece[..<received]
      }
      return bytes
    }
  }

  func receiveText(_ count: Int) async throws -> String {
    String(decoding: try await receive(count), as: UTF8.self)
  }

  /// Everything until the server ends the connection, and how it did.
  func receiveAll() async throws -> (text: String, bytes: [UInt8], ending: Ending) {
    try await onThread { [descriptor] in
      var bytes: [UInt8] = []
      while true {
        var piece = [UInt8](repeating: 0, count: 65536)
        let received = recv(descriptor, &piece, piece.count, 0)
        if received < 0 && errno == ECONNRESET { return (String(decoding: bytes, as: UTF8.self), bytes, .reset) }
        guard received >= 0 else { throw SocketError(code: errno) }
        if received == 0 { return (String(decoding: bytes, as: UTF8.self), bytes, .closed) }
        bytes += piece[..<received]
      }
    }
  }

  /// Closes the sending side.
  func finishSending() {
    shutdown(descriptor, Int32(SHUT_WR))
  }
}

private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
