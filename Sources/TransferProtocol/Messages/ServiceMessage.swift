/// A message of the service: the reply to a request, or a push, which is sent without one.
///
/// `{"replyTo":7,"reply":"attached","body":{…}}` or `{"push":"progress","body":{…}}`
package enum ServiceMessage: Codable, Sendable, Equatable {
  case reply(to: UInt64, ServiceReply)
  case push(ServicePush)

  private enum CodingKeys: String, CodingKey { case replyTo, reply, push, body }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func body<Body: Decodable>(_ type: Body.Type) throws -> Body { try container.decode(type, forKey: .body) }
    if let name = try container.decodeIfPresent(String.self, forKey: .push) {
      let push: ServicePush =
        switch name {
        case "event": .event(try body(SequencedEvent.self))
        case "eventsFinished": .eventsFinished(try body(SessionReference.self))
        case "progress": .progress(try body(DownloadProgress.self))
        case "sent": .sent(try body(UploadProgress.self))
        case "responseReceived": .responseReceived(try body(ResponseReceived.self))
        case "resumedAtOffset": .resumedAtOffset(try body(ResumedAtOffset.self))
        case "challenge": .challenge(try body(ChallengeQuestion.self))
        case "delayedRequest": .delayedRequest(try body(DelayedRequestQuestion.self))
        case "waiting": .waiting(try body(WaitingTasks.self))
        case "transferChanged": .transferChanged(try body(TransferStatus.self))
        case "sendFiles": .sendFiles(try body(FilesWanted.self))
        default: .unknown(name)
        }
      self = .push(push)
      return
    }
    let id = try container.decode(UInt64.self, forKey: .replyTo)
    let name = try container.decode(String.self, forKey: .reply)
    let reply: ServiceReply =
      switch name {
      case "done": .done
      case "hello": .hello(try body(HelloReply.self))
      case "version": .version(try body(ServiceVersion.self))
      case "attached": .attached(try body(Attached.self))
      case "tasks": .tasks(try body(TaskPage.self))
      case "created": .created(try body(CreatedTasks.self))
      case "cancelled": .cancelled(try body(CancelledTask.self))
      case "transfers": .transfers(try body(TransferPage.self))
      case "transfer": .transfer(try body(TransferSnapshot.self))
      case "refused": .refused(try body(Refusal.self))
      default: .unknown(name)
      }
    self = .reply(to: id, reply)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .reply(let id, let reply):
      try container.encode(id, forKey: .replyTo)
      try container.encode(reply.name, forKey: .reply)
      if let body = reply.body { try container.encode(body, forKey: .body) }
    case .push(let push):
      try container.encode(push.name, forKey: .push)
      if let body = push.body { try container.encode(body, forKey: .body) }
    }
  }
}
