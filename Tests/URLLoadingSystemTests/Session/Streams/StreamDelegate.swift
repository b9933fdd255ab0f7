import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// Writes down what the delegate of stream tasks is told, and keeps the streams it is given.
final class StreamTaskDelegate: NSObject, URLSessionStreamDelegate, URLSessionDataDelegate, @unchecked Sendable {
  // Sendable by hand: the closures are set before the first task is made.

  struct Streams: @unchecked Sendable {
    let input: InputStream
    let output: OutputStream
  }

  let events = Recorder<String>()
  let streams = Recorder<Streams>()
  let tasks = Recorder<URLSessionStreamTask>()
  let done = Gate()
  let invalid = Gate()
  var onChallenge: @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?) = {
    _ in
    (.performDefaultHandling, nil)
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { invalid.open() }

  func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
    events.record("read closed")
  }

  func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
    events.record("write closed")
  }

  func urlSession(
    _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
    outputStream: OutputStream
  ) {
    events.record("streams")
    streams.record(Streams(input: inputStream, output: outputStream))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    events.record("challenge \(challenge.protectionSpace.host)")
    let (disposition, credential) = onChallenge(challenge)
    completionHandler(disposition, credential)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    events.record("response")
    completionHandler(.becomeStream)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
    events.record("became stream")
    tasks.record(streamTask)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    events.record(error.map { "failed \(($0 as? URLError)?.code.rawValue ?? 0)" } ?? "completed")
    done.open()
  }
}

/// A session with a recording delegate, and a stream task of it that has been started.
func openStream(to server: LoopbackServer) -> (URLSession, StreamTaskDelegate, URLSessionStreamTask) {
  let delegate = StreamTaskDelegate()
  let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: serialQueue())
  let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
  task.resume()
  return (session, delegate, task)
}

/// Runs `body` with a server that speaks `script`; proves that no connection is left open.
func withRawServer(
  tls: ServerTLS? = nil, halfClosed: Bool = true, _ script: @escaping @Sendable (ServerConnection) async throws -> Void,
  _ body: (LoopbackServer) async throws -> Void
) async throws {
  var options = LoopbackServer.Options()
  options.allowsHalfClosedClients = halfClosed
  let server = try await LoopbackServer.startRaw(tls: tls, options: options, script: script)
  do { try await body(server) } catch {
    await server.shutdown()
    throw error
  }
  try await server.expectNoOpenConnections()
  await server.shutdown()
}

extension ServerConnection {
  /// Everything until the client closes its side.
  func readToEnd() async throws -> String {
    var text = ""
    while let bytes = try await read() { text += String(buffer: bytes) }
    return text
  }

  /// Bytes until a line feed, which is not part of the result.
  func readLine() async throws -> String? {
    var line: [UInt8] = []
    while let byte = try await read(exactly: 1)?.first {
      if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
      line.append(byte)
    }
    return nil
  }
}

extension URLSessionStreamTask {
  /// Reads until a line feed, one byte at a time.
  func readLine() async throws -> String {
    var line = Data()
    while true {
      let (data, atEnd) = try await readData(ofMinLength: 1, maxLength: 1, timeout: 0)
      guard let data, !(atEnd && data.isEmpty) else { break }
      if data.first == 0x0A { break }
      line.append(data)
    }
    return String(decoding: line, as: UTF8.self)
  }
}
