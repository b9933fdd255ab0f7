import Foundation
import Glibc
import Synchronization

/// Certificate and key a real server presents, as PEM files.
package struct TLSFiles: Sendable {
  package let certificateFile: String
  package let keyFile: String

  package init(certificateFile: String, keyFile: String) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
  }
}

/// A server's own temporary folder: configuration, logs, scratch files.
struct ServerFolder: Sendable {
  let path: String

  init(_ name: String) throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("\(name)-\(getpid())-\(UUID().uuidString.prefix(8))").path
    // A server started by root serves as another user, who must be able to enter.
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
  }

  func file(_ name: String) -> String { path + "/" + name }

  func makeFolder(_ name: String) throws -> String {
    try FileManager.default.createDirectory(
      atPath: file(name), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    return file(name)
  }

  func write(_ text: String, to name: String) throws {
    try text.write(toFile: file(name), atomically: false, encoding: .utf8)
  }

  func text(of name: String) -> String {
    (try? String(contentsOfFile: file(name), encoding: .utf8)) ?? ""
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }
}

private let handedOut = Mutex<Set<Int>>([])

/// A port nothing listens on, on the loopback interface, and that was not returned before. Another process may take it
/// before the caller does, so the caller must be ready to try again.
func freePort() throws -> Int {
  for _ in 0..<100 {
    let port = try unusedPort()
    if handedOut.withLock({ $0.insert(port).inserted }) { return port }
  }
  throw RealServerError.noFreePort
}

private func unusedPort() throws -> Int {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { throw RealServerError.noFreePort }
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let result = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
      bind(descriptor, pointer, size) == 0 ? getsockname(descriptor, pointer, &size) : -1
    }
  }
  guard result == 0 else { throw RealServerError.noFreePort }
  return Int(UInt16(bigEndian: address.sin_port))
}

/// Whether something accepts connections on the port.
func isListening(on port: Int) -> Bool {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = UInt16(port).bigEndian
  address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
  }
}
