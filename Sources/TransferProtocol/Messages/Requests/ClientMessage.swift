/// A message of an app: a request with a number that the reply repeats. `{"id":7,"request":"attach","body":{…}}`
package struct ClientMessage: Codable, Sendable, Equatable {
  /// Chosen by the app, unique on its connection.
  package var id: UInt64
  package var request: ClientRequest

  package init(id: UInt64, request: ClientRequest) {
    self.id = id
    self.request = request
  }

  private enum CodingKeys: String, CodingKey { case id, request, body }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(UInt64.self, forKey: .id)
    let name = try container.decode(String.self, forKey: .request)
    func body<Body: Decodable>(_ type: Body.Type) throws -> Body { try container.decode(type, forKey: .body) }
    request =
      switch name {
      case "hello": .hello(try body(Hello.self))
      case "version": .version
      case "attach": .attach(try body(Attach.self))
      case "sessionTasks": .sessionTasks(try body(SessionTasks.self))
      case "startDelivery": .startDelivery(try body(SessionReference.self))
      case "createTasks": .createTasks(try body(CreateTasks.self))
      case "resumeTasks": .resumeTasks(try body(TaskSelection.self))
      case "suspendTasks": .suspendTasks(try body(TaskSelection.self))
      case "cancelTask": .cancelTask(try body(CancelTask.self))
      case "cancelTasks": .cancelTasks(try body(TaskSelection.self))
      case "updateTask": .updateTask(try body(UpdateTask.self))
      case "acknowledge": .acknowledge(try body(Acknowledge.self))
      case "keepEvents": .keepEvents(try body(Acknowledge.self))
      case "answerChallenge": .answerChallenge(try body(ChallengeAnswered.self))
      case "answerDelayedRequest": .answerDelayedRequest(try body(DelayedRequestAnswered.self))
      case "doneHandlingEvents": .doneHandlingEvents(try body(SessionReference.self))
      case "invalidate": .invalidate(try body(SessionReference.self))
      case "listTransfers": .listTransfers(try body(ListTransfers.self))
      case "showTransfer": .showTransfer(try body(TransferReference.self))
      case "cancelTransfer": .cancelTransfer(try body(TransferReference.self))
      case "watch": .watch(try body(Watch.self))
      case "holdTransfer": .holdTransfer(try body(TransferReference.self))
      case "releaseTransfer": .releaseTransfer(try body(TransferReference.self))
      case "retryTransfer": .retryTransfer(try body(TransferReference.self))
      case "editTransfer": .editTransfer(try body(EditTransfer.self))
      case "limit": .limit(try body(LimitTransfers.self))
      case "limitApp": .limitApp(try body(LimitApp.self))
      default: .unknown(name)
      }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(request.name, forKey: .request)
    if let body = request.body { try container.encode(body, forKey: .body) }
  }
}
