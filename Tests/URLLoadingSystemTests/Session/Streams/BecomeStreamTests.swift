import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// A data task whose response becomes a stream task.
@Suite struct BecomeStreamTests {
  /// A body that ends with its connection: both sides are the app's, and the connection is no HTTP connection any more.
  @Test func theConnectionItself() async throws {
    try await withRawServer({ connection in
      guard let text = try await connection.read().map({ String(buffer: $0) }), text.hasPrefix("GET /tunnel ") else {
        return try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: x/raw\r\n\r\nready\n")
      while let line = try await connection.readLine() { try await connection.write("\(line)!\n") }
    }) { server in
      let delegate = StreamTaskDelegate()
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 1
      let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: serialQueue())
      defer { session.invalidateAndCancel() }
      let data = session.dataTask(with: server.url("/tunnel"))
      data.resume()
      let stream = try await delegate.tasks.next()
      #expect(stream.originalRequest?.url == server.url("/tunnel"))
      #expect((stream.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Type") == "x/raw")
      #expect(try await stream.readLine() == "ready")
      try await stream.write(Data("hi\n".utf8), timeout: 30)
      #expect(try await stream.readLine() == "hi!")
      // Its place is free for others.
      let (body, _) = try await session.data(from: server.url("/plain"))
      #expect(body == Data("ok".utf8))
      #expect(data.state == .completed)
      stream.closeWrite()
      let (rest, atEnd) = try await stream.readData(ofMinLength: 1, maxLength: 1, timeout: 30)
      #expect(rest == nil && atEnd)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all.prefix(2) == ["response", "became stream"])
      #expect(delegate.events.all.last == "completed")
      #expect(!delegate.events.all.contains("failed"))
    }
  }

  /// HTTP delimits the body: it can be read as a stream, and nothing can be written.
  @Test(arguments: [
    "Content-Length: 11\r\n\r\nhello world", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
  ])
  func aDelimitedBodyIsReadOnly(_ answer: String) async throws {
    try await withRawServer({ connection in
      _ = try await connection.read()
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\(answer)")
      while try await connection.read() != nil {}
    }) { server in
      let delegate = StreamTaskDelegate()
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: serialQueue())
      defer { session.invalidateAndCancel() }
      session.dataTask(with: server.url()).resume()
      let stream = try await delegate.tasks.next()
      let (data, _) = try await stream.readData(ofMinLength: 11, maxLength: 100, timeout: 30)
      #expect(data == Data("hello world".utf8))
      let error = await #expect(throws: POSIXError.self) { try await stream.write(Data([1]), timeout: 0) }
      #expect(error?.code == .EPIPE)
      // Told on the delegate's queue.
      try await eventually("the end of writing") { delegate.events.all.contains("write closed") }
      let (rest, atEnd) = try await stream.readData(ofMinLength: 1, maxLength: 100, timeout: 30)
      #expect(rest == nil && atEnd)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all.last == "completed")
    }
  }
}
