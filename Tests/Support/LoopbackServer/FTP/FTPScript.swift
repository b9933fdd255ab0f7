/// What an FTP server of a test says. Everything has an answer that lets a client go on.
package struct FTPScript: Sendable {
  package var greeting = "220 ready\r\n"
  /// What RETR sends, by the name that the client gives.
  package var files: [String: [UInt8]] = [:]
  /// The users who are let in, with their passwords; nil: every user is.
  package var users: [String: String]?
  /// What LIST and NLST send, and MLSD unless `facts` says otherwise.
  package var listing = "-rw-r--r-- 1 ftp ftp 6 Jan 01 2020 a.txt\r\n"
  /// What MLSD sends; nil: the same as LIST.
  package var facts: String?
  /// Whether the reply that ends a transfer to the server is sent before its data is read.
  package var endsBeforeReading = false
  /// What MDTM answers, by the name that the client gives: `YYYYMMDDhhmmss`.
  package var dates: [String: String] = [:]
  /// The certificate for AUTH TLS, and for data connections; nil: neither is known.
  package var tls: ServerTLS?
  /// Whether the control connection begins with TLS.
  package var isImplicitlySecure = false
  /// How much of a file that is sent is read before the data connection is closed; nil: all.
  package var mostReceived: Int?
  /// What is said to commands of these verbs instead. Empty: nothing, for ever.
  package var answers: [String: String] = [:]
  /// What is said when the data has been sent. Empty: the control connection is closed.
  package var ending = "226 sent\r\n"
  /// How much of the data is sent before its connection is closed; nil: all.
  package var cut: Int?
  /// Whether the data connection is left open when everything was sent.
  package var keepsDataOpen = false
  /// Whether the data connection is reset at its end instead of closed.
  package var resetsData = false
  /// Whether, in active mode, another machine (127.0.0.2) connects first, and sends something.
  package var isPrecededByAStranger = false
  /// Whether, in active mode, the server does not connect.
  package var neverConnects = false
  /// Called for each command, before it is answered.
  package var onCommand: @Sendable (String) async throws -> Void = { _ in }

  package init() {}
}

extension FTPScript {
  /// Has one file, `name`.
  package static func file(_ name: String = "a.txt", _ text: String = "hello\n") -> FTPScript {
    var script = FTPScript()
    script.files = [name: Array(text.utf8)]
    return script
  }

  /// The script with changes.
  package func with(_ change: (inout FTPScript) -> Void) -> FTPScript {
    var script = self
    change(&script)
    return script
  }
}
