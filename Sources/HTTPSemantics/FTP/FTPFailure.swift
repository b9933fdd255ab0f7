/// Why an FTP server did not send what was asked for.
package enum FTPFailure: Error, Sendable, Equatable {
  /// The server does not serve now (421), or not us.
  case unavailable(FTPReply)
  /// It does not let us in (530, 430, 332, 532).
  case notLoggedIn(FTPReply)
  /// There is no such file or folder.
  case notFound(FTPReply)
  /// There is, and it is not for us.
  case forbidden(FTPReply)
  /// It ended the transfer, or could not begin it (425, 426, 451, …).
  case aborted(FTPReply)
  /// It does not know a command that is needed, or answers with a reply that makes no sense here.
  case unsuitable(FTPReply, to: String)
  /// It does not speak TLS, or not for data, which is wanted.
  case unprotected(FTPReply)
  /// It says that it has all of a file before all was sent.
  case endedEarly(FTPReply)
  /// It closed the data connection before as many bytes had come as it had said.
  case truncated(count: Int64, size: Int64)
  /// It sent something that is no reply.
  case malformed(FTPReplyReader.Malformation)

  /// The question that a reply answers.
  package enum Question: Sendable, Equatable {
    case greeting
    case login
    /// A folder or a file of this name.
    case name
    /// Whether a file may be written.
    case storage
    /// Whether TLS may begin.
    case protection
    /// Anything else, by its command.
    case other(String)
    /// Whether all has been sent.
    case end
  }

  /// The meaning of a reply that is no success (RFC 959 §4.2.1, §5.4). Codes mean the same everywhere, but for those
  /// that servers use for everything.
  package init(_ reply: FTPReply, to question: Question) {
    switch (reply.code, question) {
    case (421, .greeting), (400..., .greeting): self = .unavailable(reply)
    case (421, _), (_, .end): self = .aborted(reply)
    // A server that knows no TLS says to every command before the login that one is to log in first.
    case (530, .protection): self = .unprotected(reply)
    // RFC 959 §5.4: 332 and 532 want an account besides the password, for which URLs have no room.
    case (332, _), (430, _), (530, _), (532, _), (400..., .login): self = .notLoggedIn(reply)
    case (425, _), (426, _), (451, _), (452, _): self = .aborted(reply)
    case (_, .protection): self = .unprotected(reply)
    // RFC 959 §5.4: no room, and a name that is not allowed.
    case (552, .storage): self = .aborted(reply)
    case (450, .storage), (550, .storage), (553, .storage), (532, .storage): self = .forbidden(reply)
    case (_, .storage): self = .unsuitable(reply, to: "STOR")
    // 550 is "no access" as well as "not found"; servers tell the two apart in the text, if at all.
    case (450, .name), (550, .name), (553, .name):
      self = reply.speaksOfPermission ? .forbidden(reply) : .notFound(reply)
    case (_, .other(let verb)): self = .unsuitable(reply, to: verb)
    case (_, .greeting): self = .unsuitable(reply, to: "being connected to")
    case (_, .login): self = .unsuitable(reply, to: "USER")
    case (_, .name): self = .unsuitable(reply, to: "a name")
    }
  }

  /// Whether the server may accept another user name or password where it did not accept the present ones. One that wants
  /// an account besides (332, 532), or does not know the command, accepts no other. 430 is not in RFC 959; servers say it.
  package var isRefusedLogin: Bool {
    if case .notLoggedIn(let reply) = self { [430, 530].contains(reply.code) } else { false }
  }

  package var phrase: String {
    switch self {
    case .unavailable(let reply): "The FTP server does not serve: \(reply.sentence)"
    case .notLoggedIn(let reply): "The FTP server does not accept the user name and password: \(reply.sentence)"
    case .notFound(let reply): "The FTP server has no such file or folder: \(reply.sentence)"
    case .unprotected(let reply): "The FTP server does not protect the connection by TLS: \(reply.sentence)"
    case .forbidden(let reply): "The FTP server does not give the file or folder out: \(reply.sentence)"
    case .aborted(let reply): "The FTP server ended the transfer: \(reply.sentence)"
    case .unsuitable(let reply, _) where [500, 502].contains(reply.code):
      "The FTP server does not know a command that is needed: \(reply.sentence)"
    case .unsuitable(let reply, let verb): "The FTP server's answer to \(verb) is of no use: \(reply.sentence)"
    case .endedEarly(let reply): "The FTP server ended the transfer before all was sent: \(reply.sentence)"
    case .truncated(let count, let size): "The FTP server sent \(count) of \(size) bytes"
    case .malformed(.notAReply): "What the server says is no FTP"
    case .malformed(.lineTooLong): "The FTP server sent a line longer than \(FTPReplyReader.longestLine) bytes"
    case .malformed(.replyTooLong):
      "The FTP server sent a reply of more than \(FTPReplyReader.mostLines) lines or \(FTPReplyReader.mostBytes) bytes"
    }
  }
}

extension FTPReply {
  fileprivate var speaksOfPermission: Bool {
    let text = String(decoding: lines.joined(separator: [0x20]).map(\.lowercased), as: UTF8.self)
    guard !text.contains("no such"), !text.contains("not found") else { return false }
    return ["permission", "denied", "not allowed", "forbidden"].contains { text.contains($0) }
  }
}
