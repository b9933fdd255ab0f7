import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Stream tasks that become TLS connections.
@Suite struct SecureStreamTests {
  private func open(
    _ server: LoopbackServer, trusting file: String?,
    _ answer: (@Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?))? = nil
  ) -> (URLSession, StreamTaskDelegate, URLSessionStreamTask) {
    let configuration = URLSessionConfiguration.ephemeral
    if let file { configuration.trustRoots = .file(file) }
    let delegate = StreamTaskDelegate()
    if let answer { delegate.onChallenge = answer }
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: serialQueue())
    let task = session.streamTask(withHostName: "localhost", port: server.port)
    task.resume()
    return (session, delegate, task)
  }

  /// A greeting in the clear, then TLS, then more, as mail servers do it; captured streams are as safe.
  @Test(arguments: [false, true]) func inTheMiddleOfAConversation(_ captures: Bool) async throws {
    let certificates = try TestCertificates.shared()
    try await withRawServer({ connection in
      try await connection.write("220 ready\n")
      guard try await connection.readLine() == "STARTTLS" else { return }
      try await connection.startTLS(.localhost(), announcing: "220 go\n")
      while let line = try await connection.readLine() { try await connection.write("\(line) over TLS\n") }
    }) { server in
      let (session, delegate, task) = open(server, trusting: certificates.authorityFile)
      defer { session.invalidateAndCancel() }
      #expect(try await task.readLine() == "220 ready")
      try await task.write(Data("STARTTLS\n".utf8), timeout: 30)
      #expect(try await task.readLine() == "220 go")
      task.startSecureConnection()
      guard captures else {
        try await task.write(Data("hello\n".utf8), timeout: 30)
        #expect(try await task.readLine() == "hello over TLS")
        task.closeWrite()
        let (rest, atEnd) = try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 30)
        #expect(rest == nil && atEnd)
        try await delegate.done.wait(within: patience)
        #expect(delegate.events.all.last == "completed")
        return
      }
      task.captureStreams()
      let streams = try await delegate.streams.next()
      let answer = await withCheckedContinuation { done in
        Thread {
          streams.input.open()
          streams.output.open()
          _ = streams.output.write(Array("hello\n".utf8), maxLength: 6)
          streams.output.close()
          var piece = [UInt8](repeating: 0, count: 100)
          var all = ""
          while true {
            let count = streams.input.read(&piece, maxLength: piece.count)
            guard count > 0 else { break }
            all += String(decoding: piece[..<count], as: UTF8.self)
          }
          streams.input.close()
          done.resume(returning: all)
        }.start()
      }
      #expect(answer == "hello over TLS\n")
    }
  }

  @Test func anUntrustedServerFailsTheTask() async throws {
    try await withRawServer(tls: .localhost(), { _ = try await $0.read() }) { server in
      let (session, delegate, task) = open(server, trusting: nil)
      defer { session.invalidateAndCancel() }
      task.startSecureConnection()
      let error = await #expect(throws: URLError.self) { try await task.write(Data("secret".utf8), timeout: 30) }
      #expect(error?.code == .serverCertificateHasUnknownRoot)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all.last == "failed -1203")
    }
  }

  @Test func aResetInTheMiddleOfTheHandshakeFailsTheTask() async throws {
    try await withRawServer({ connection in
      _ = try await connection.read()
      connection.reset()
    }) { server in
      let (session, delegate, task) = open(server, trusting: nil)
      defer { session.invalidateAndCancel() }
      task.startSecureConnection()
      let error = await #expect(throws: URLError.self) { try await task.write(Data("secret".utf8), timeout: 30) }
      #expect(error?.code == .secureConnectionFailed)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all.last == "failed -1200")
    }
  }

  /// The delegate's word counts, as for any connection of a task.
  @Test func theDelegateAcceptsAServerThatNobodyKnows() async throws {
    let asked = Recorder<URLAuthenticationChallenge>()
    try await withRawServer(
      tls: .localhost(), { connection in try await connection.write(connection.readToEnd() + " over TLS") }
    ) { server in
      let (session, delegate, task) = open(server, trusting: nil) { challenge in
        asked.record(challenge)
        return (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
      }
      defer { session.invalidateAndCancel() }
      task.startSecureConnection()
      try await task.write(Data("hello".utf8), timeout: 30)
      task.closeWrite()
      let (answer, _) = try await task.readData(ofMinLength: 14, maxLength: 100, timeout: 30)
      #expect(answer == Data("hello over TLS".utf8))
      let space = try #require(asked.all.first).protectionSpace
      #expect(asked.count == 1 && delegate.events.all.first == "challenge localhost")
      #expect(space.authenticationMethod == NSURLAuthenticationMethodServerTrust)
      #expect(space.port == server.port && space.serverTrust != nil)
    }
  }

  /// A server that the rules believe, refused.
  @Test(
    arguments: [
      (.cancelAuthenticationChallenge, .cancelled), (.rejectProtectionSpace, .serverCertificateUntrusted),
    ] as [(URLSession.AuthChallengeDisposition, URLError.Code)])
  func theDelegateRefusesAServer(
    _ disposition: URLSession.AuthChallengeDisposition, _ code: URLError.Code
  ) async throws {
    let certificates = try TestCertificates.shared()
    try await withRawServer(tls: .localhost(), { _ = try await $0.read() }) { server in
      let (session, delegate, task) = open(server, trusting: certificates.authorityFile) { _ in (disposition, nil) }
      defer { session.invalidateAndCancel() }
      task.startSecureConnection()
      let error = await #expect(throws: URLError.self) { try await task.write(Data("secret".utf8), timeout: 30) }
      #expect(error?.code == code)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all.last == "failed \(code.rawValue)")
    }
  }

  @Test func theDelegateShowsACertificate() async throws {
    let certificates = try TestCertificates.shared()
    let identity = try SecIdentity(
      pemCertificate: Data(contentsOf: URL(fileURLWithPath: certificates.client.certificateFile)),
      pemPrivateKey: Data(contentsOf: URL(fileURLWithPath: certificates.client.keyFile)))
    var tls = try ServerTLS.localhost()
    tls.clientCertificates = .required
    try await withRawServer(tls: tls, { try await $0.write($0.readToEnd()) }) { server in
      let (session, delegate, task) = open(server, trusting: certificates.authorityFile) { challenge in
        guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate else {
          return (.performDefaultHandling, nil)
        }
        return (.useCredential, URLCredential(identity: identity, certificates: nil, persistence: .none))
      }
      defer { session.invalidateAndCancel() }
      task.startSecureConnection()
      try await task.write(Data("hello".utf8), timeout: 30)
      task.closeWrite()
      #expect(try await task.readData(ofMinLength: 5, maxLength: 5, timeout: 30).0 == Data("hello".utf8))
      #expect(delegate.events.all.prefix(2) == ["challenge localhost", "challenge localhost"])
    }
  }

  /// Bytes in front of the handshake would pass for protected ones: whoever sits between could put them there.
  @Test func whatWasSlippedInBeforeTheHandshakeEndsIt() async throws {
    let certificates = try TestCertificates.shared()
    let sent = Gate()
    try await withRawServer({ connection in
      try await connection.write("220 go\n220 injected\n")
      sent.open()
      _ = try await connection.readToEnd()
    }) { server in
      let (session, delegate, task) = open(server, trusting: certificates.authorityFile)
      defer { session.invalidateAndCancel() }
      #expect(try await task.readLine() == "220 go")
      task.startSecureConnection()
      let error = await #expect(throws: URLError.self) { try await task.write(Data("secret".utf8), timeout: 30) }
      #expect(error?.code == .secureConnectionFailed)
      try await delegate.done.wait(within: patience)
    }
  }
}
