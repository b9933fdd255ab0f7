import Foundation
import LoopbackServer

/// `serve SIZE RATE` serves a file of so many bytes, at so many bytes a second, until standard input ends. Prints the port,
/// then a line with the offset of each answer.
enum FileServing {
  static func run(_ arguments: [String]) async throws {
    guard arguments.count == 2, let size = Int64(arguments[0]), let rate = Int(arguments[1]) else {
      throw CocoaError(.featureUnsupported)
    }
    let file = FileResource(size: size)
    file.update { $0.bytesPerSecond = rate }
    var options = LoopbackServer.Options()
    options.host = "0.0.0.0"
    let server = try await LoopbackServer.start(options: options) { request in
      let reply = file.reply(to: request)
      if let answer = file.served.last { print(line: "\(answer.status) \(answer.offset)") }
      return reply
    }
    print(line: "\(server.port)")
    // The task of the test holds the other end, so this ends with it.
    await withCheckedContinuation { continuation in
      Thread {
        while readLine() != nil {}
        continuation.resume()
      }.start()
    }
    await server.shutdown()
  }

  /// At once, also into a file.
  private static func print(line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
  }
}
