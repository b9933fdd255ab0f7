/// The replies most tests need.
extension Reply {
  /// 200 with a body.
  package static func ok(_ body: [UInt8], type: String = "application/octet-stream", fields: HeaderList = []) -> Reply {
    status(200, fields: [("Content-Type", type)] + fields, body: body)
  }

  /// 200 with a text.
  package static func ok(_ body: String, type: String = "text/plain; charset=utf-8", fields: HeaderList = []) -> Reply {
    ok(Array(body.utf8), type: type, fields: fields)
  }

  /// 200 with `count` bytes of a pattern, made while they are sent.
  package static func pattern(_ pattern: BytePattern, count: Int64, fields: HeaderList = []) -> Reply {
    Reply([
      .head(200, fields: fields + [("Content-Length", String(count))]),
      .pattern(pattern, count: count),
    ])
  }

  /// Any status. Content-Length is added except where a body cannot be (1xx, 204, 304: RFC 9110 §8.6).
  package static func status(_ status: Int, fields: HeaderList = [], body: [UInt8] = []) -> Reply {
    let isBodiless = status < 200 || status == 204 || status == 304
    let length = isBodiless ? [] : [("Content-Length", String(body.count))]
    return Reply([.head(status, fields: fields + length)] + (body.isEmpty || isBodiless ? [] : [.bytes(body)]))
  }

  package static func status(_ status: Int, fields: HeaderList = [], body: String) -> Reply {
    Reply.status(status, fields: fields, body: Array(body.utf8))
  }

  package static func redirect(to location: String, status: Int = 302, fields: HeaderList = []) -> Reply {
    Reply.status(status, fields: [("Location", location)] + fields)
  }

  /// 200 with each piece as one chunk.
  package static func chunked(_ pieces: [String], fields: HeaderList = [], trailers: HeaderList = []) -> Reply {
    Reply(
      [.head(200, fields: fields + [("Transfer-Encoding", "chunked")])]
        + pieces.map { .chunk($0) } + [.trailers(trailers)])
  }

  /// 200 with `count` bytes of a pattern in chunks of `each` bytes.
  package static func chunked(_ pattern: BytePattern, count: Int64, each: Int, fields: HeaderList = []) -> Reply {
    Reply([
      .head(200, fields: fields + [("Transfer-Encoding", "chunked")]),
      .patternChunks(pattern, count: count, each: each),
      .endOfChunks,
    ])
  }

  /// 200 that declares `declared` bytes, sends the first `sent` of ``BytePattern``'s default pattern, and breaks off.
  package static func truncated(declared: Int64, sent: Int64, ending: ReplyEnding = .closeGracefully) -> Reply {
    Reply([
      .head(200, fields: [("Content-Length", String(declared))]),
      .pattern(BytePattern(), count: sent),
      ending.step,
    ])
  }

  /// Bytes as they are in place of a response; then the connection is closed unless `ending` is nil.
  package static func raw(_ text: String, ending: ReplyEnding? = .closeGracefully) -> Reply {
    Reply([.raw(text)] + (ending.map { [$0.step] } ?? []))
  }

  /// Reads the request and never answers.
  package static var never: Reply { Reply([.stall]) }

  /// The reply preceded by an informational response.
  package func after(informational status: Int, fields: HeaderList = []) -> Reply {
    preceded(by: [.informational(status, fields: fields)])
  }

  /// The reply with these steps before its own.
  package func preceded(by steps: [ReplyStep]) -> Reply {
    var reply = self
    reply.steps.insert(contentsOf: steps, at: 0)
    return reply
  }

  /// The reply with these steps after its own.
  package func followed(by steps: [ReplyStep]) -> Reply {
    var reply = self
    reply.steps.append(contentsOf: steps)
    return reply
  }

  /// The reply with its body leaving at a limited rate.
  package func limited(toBytesPerSecond rate: Int) -> Reply {
    preceded(by: [.limitRate(bytesPerSecond: rate)])
  }

  /// The reply with these fields added to its head.
  package func adding(_ fields: HeaderList) -> Reply {
    var reply = self
    reply.steps = steps.map { step in
      guard case .head(let status, let reason, let present) = step else { return step }
      return .head(status, reason: reason, fields: present + fields)
    }
    return reply
  }

  /// The reply with `Connection: close`, after which the server closes the connection.
  package var closing: Reply {
    adding([("Connection", "close")]).followed(by: [.closeGracefully])
  }
}
