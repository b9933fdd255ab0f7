import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows the three ways to give an upload its body: data, a file, a stream. (URL Session Programming Guide, "Uploading
/// Body Content".)
///
///     EXAMPLES=1 swift run uploads http://localhost:8080
@main
struct Uploads {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: uploads SERVER")
      exit(64)
    }
    do { try await run(on: server) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(on server: URL) async throws {
    var request = URLRequest(url: server.appendingPathComponent("upload"))
    request.httpMethod = "POST"
    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
    let content = Data(String(repeating: "one line of the content\n", count: 10_000).utf8)

    let delegate = UploadDelegate(content: content)
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)

    // Data that is in memory already. The session counts it for Content-Length.
    let fromData = try await delegate.answer(to: session.uploadTask(with: request, from: content))
    print("data: \(fromData)")

    // A file is read while it is sent. This is the way for background sessions, too.
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString).txt")
    try content.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let fromFile = try await delegate.answer(to: session.uploadTask(with: request, fromFile: file))
    print("file: \(fromFile)")

    // The delegate is asked for a stream. Its length is not known, so the body goes in chunks …
    let fromStream = try await delegate.answer(to: session.uploadTask(withStreamedRequest: request))
    print("stream: \(fromStream)")

    // … unless the request tells the length.
    request.setValue(String(content.count), forHTTPHeaderField: "Content-Length")
    let withLength = try await delegate.answer(to: session.uploadTask(withStreamedRequest: request))
    print("stream with a length: \(withLength)")
    session.finishTasksAndInvalidate()
  }
}
