import Foundation
import LoopbackServer

/// `serve SIZE RATE FIRST` serves a file of so many bytes until standard input ends: the first answer at `FIRST` bytes a
/// second, later ones at `RATE`. Prints the port, then a line with the offset of each answer.
enum FileServing {
  static func run(_ arguments: [String]) async throws {
    guard arguments.count == 3, let size = Int64(arguments[0]), let rate = Int(arguments[1]),
      let first = Int(arguments[2])
    else { throw CocoaError(.featureUnsupported) }
    let file = FileResource(size: size)
    file.update { $0.bytesPerSecond = first }
    var options = LoopbackServer.Options()
    options.host = "0.0.0.0"
    let server = try await LoopbackServer.start(options: options) { request in
      let reply = file.reply(to: request)
      file.update { $0.bytesPerSecond = rate }
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
