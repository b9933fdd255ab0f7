import CLinux
import Foundation

/// A program at the socket of a service, or before its files, that the service is to keep out.
struct SocketProbe {
  private let options: [String: String]

  init(_ options: [String: String]) { self.options = options }

  /// Opens `count` connections to `socket`, as many as the limits of this process allow, and keeps what is left of them until
  /// standard input ends. Says how many there were.
  func crowd() {
    var limits = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    limits.rlim_cur = limits.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    let most = Int(clamping: limits.rlim_cur) - 64
    var connections: [Int32] = []
    for _ in 0..<min(most, Int(options["count"] ?? "") ?? 0) {
      guard case .success(let connection) = connect() else { continue }
      connections.append(connection)
    }
    SystemProbe.say("connected \(connections.count)")
    while readLine() != nil {}
  }

  /// As the user `uid`, where there is one: opens each of `files`, separated by colons, and sends `bytes`, in base64, to
  /// `socket`. Says the number of the error of each file and of the connection, 0 for none, and how many bytes were answered
  /// first.
  func stranger() {
    if let user = options["uid"].flatMap({ uid_t($0) }) {
      guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else { exit(3) }
    }
    for path in (options["files"] ?? "").split(separator: ":").map(String.init) {
      let file = open(path, O_RDONLY)
      SystemProbe.say("file \(file < 0 ? errno : 0)")
    }
    switch connect() {
    case .failure(let error): SystemProbe.say("socket \(error.number)")
    case .success(let connection):
      SystemProbe.say("socket 0")
      let bytes = Data(base64Encoded: options["bytes"] ?? "") ?? Data()
      // The service may have closed it already.
      _ = bytes.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      var answer = [UInt8](repeating: 0, count: 4096)
      SystemProbe.say("answer \(max(0, read(connection, &answer, answer.count)))")
    }
  }

  private struct Failed: Error { let number: Int32 }

  private func connect() -> Result<Int32, Failed> {
    let connection = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard connection >= 0 else { return .failure(Failed(number: errno)) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array((options["socket"] ?? "").utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { target in
      target.copyBytes(from: path.prefix(target.count - 1))
    }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(connection, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0 else {
      let number = errno
      close(connection)
      return .failure(Failed(number: number))
    }
    return .success(connection)
  }
}
