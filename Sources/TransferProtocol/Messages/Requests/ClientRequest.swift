import Foundation

/// Everything that an app can ask of the transfer service.
///
/// The order of a session: `hello`, `attach` (and `sessionTasks` while there are more pages), `startDelivery`, from
/// then on pushes arrive; then any of the others; closing the connection at the end gives the session up, and its tasks go on.
/// Requests of one connection are carried out in the order they were sent. So are they answered, but for cancelling,
/// which is answered once the transfer has really stopped.
package enum ClientRequest: Sendable, Equatable {
  /// The first request of every connection. Reply: `hello`, or a refusal with `incompatibleVersion`.
  case hello(Hello)
  /// Which service this is. Allowed before `hello`. Reply: `version`.
  case version

  // MARK: Holding a session

  /// Makes the session of that identifier, or comes back to it, and holds it until `invalidate` or the end of the
  /// connection. Reply: `attached`, or a refusal with `inUse` when another process holds it.
  case attach(Attach)
  /// The next page of the tasks of a session that this connection holds. Reply: `tasks`.
  case sessionTasks(SessionTasks)
  /// The app is ready for this session's pushes; until then none is sent. Events that were never acknowledged come
  /// first, again. Reply: `done`.
  case startDelivery(SessionReference)
  /// Takes tasks over. Replied to only when they would survive a power failure. All of them or none. A task whose
  /// token the session already knows is not created again, so repeating the request is safe. Reply: `created`.
  case createTasks(CreateTasks)
  /// Lets suspended tasks run, at once even where a failed one was waiting for its next try. Tasks that are over or unknown are passed over. Reply: `done`.
  case resumeTasks(TaskSelection)
  /// Holds tasks back; bytes already received are kept. Reply: `done`.
  case suspendTasks(TaskSelection)
  /// Ends a task with `URLError.cancelled`, which arrives as an event. Reply: `cancelled`.
  case cancelTask(CancelTask)
  /// Ends many tasks as `cancelTask` does, none for a resume point. Those that are over or unknown are passed over. A service
  /// of an earlier version refuses it with `unsupported`. Reply: `done`, once all of them are over.
  case cancelTasks(TaskSelection)
  /// Changes a task that is not over. Reply: `done`.
  case updateTask(UpdateTask)
  /// The app has handled these events; the service may forget them and their files. Reply: `done`.
  case acknowledge(Acknowledge)
  /// These events arrived, and no delegate handles them: they stay in the log for the next connection, and no longer
  /// count as on the way. Reply: `done`.
  case keepEvents(Acknowledge)
  /// The delegate's answer to a `challenge`. One to a question that was withdrawn changes nothing. Reply: `done`.
  case answerChallenge(ChallengeAnswered)
  /// The delegate's answer to a `delayedRequest`. One to a question that is no longer asked changes nothing. Reply: `done`,
  /// once the request that the task begins with is in the queue.
  case answerDelayedRequest(DelayedRequestAnswered)
  /// The app called the completion handler that it got when it was launched for this session's events. Reply: `done`.
  case doneHandlingEvents(SessionReference)
  /// Ends the session for good: tasks that are not over are cancelled, without events. Reply: `done`.
  case invalidate(SessionReference)

  // MARK: Observing, without holding a session. An app sees what belongs to it. The user's own tool, which is the
  // `urlsession` beside the service, sees the transfers of every app: it may name each, and asks for lists of all.

  /// The transfers of all sessions of this app, or of every app, oldest first. Reply: `transfers`.
  case listTransfers(ListTransfers)
  /// One transfer in full. Reply: `transfer`.
  case showTransfer(TransferReference)
  /// Cancels one, also when another process holds its session. Reply: `done`.
  case cancelTransfer(TransferReference)
  /// From now on, `transferChanged` is pushed for the transfers asked for. Reply: `transfers`, as they are now.
  case watch(Watch)
  /// Pauses one on behalf of the user: its app can neither resume it nor does it have to. Holding it again changes nothing.
  /// Reply: `done`.
  case holdTransfer(TransferReference)
  /// Ends the user's pause: the transfer goes on unless its app has suspended it. Reply: `done`.
  case releaseTransfer(TransferReference)
  /// Ends the wait for the next try. Reply: `done`, also where there was none.
  case retryTransfer(TransferReference)
  /// Changes the request of one that is not over; one that runs is begun again with it, from where it is. Reply: `done`.
  case editTransfer(EditTransfer)
  /// Limits how fast transfers receive, from now on and until it is changed. Reply: `done`.
  case limit(LimitTransfers)
  /// Limits the transfers of an app that the user's own tool names. A service that is older refuses it with `unsupported`.
  /// Reply: `done`.
  case limitApp(LimitApp)

  /// A request of a newer app. It is refused with `unsupported`.
  case unknown(String)

  package var name: String {
    switch self {
    case .hello: "hello"
    case .version: "version"
    case .attach: "attach"
    case .sessionTasks: "sessionTasks"
    case .startDelivery: "startDelivery"
    case .createTasks: "createTasks"
    case .resumeTasks: "resumeTasks"
    case .suspendTasks: "suspendTasks"
    case .cancelTask: "cancelTask"
    case .cancelTasks: "cancelTasks"
    case .updateTask: "updateTask"
    case .acknowledge: "acknowledge"
    case .keepEvents: "keepEvents"
    case .answerChallenge: "answerChallenge"
    case .answerDelayedRequest: "answerDelayedRequest"
    case .doneHandlingEvents: "doneHandlingEvents"
    case .invalidate: "invalidate"
    case .listTransfers: "listTransfers"
    case .showTransfer: "showTransfer"
    case .cancelTransfer: "cancelTransfer"
    case .watch: "watch"
    case .holdTransfer: "holdTransfer"
    case .releaseTransfer: "releaseTransfer"
    case .retryTransfer: "retryTransfer"
    case .editTransfer: "editTransfer"
    case .limit: "limit"
    case .limitApp: "limitApp"
    case .unknown(let name): name
    }
  }

  var body: (any Encodable)? {
    switch self {
    case .hello(let body): body
    case .attach(let body): body
    case .sessionTasks(let body): body
    case .createTasks(let body): body
    case .resumeTasks(let body), .suspendTasks(let body), .cancelTasks(let body): body
    case .cancelTask(let body): body
    case .updateTask(let body): body
    case .acknowledge(let body), .keepEvents(let body): body
    case .answerChallenge(let body): body
    case .answerDelayedRequest(let body): body
    case .startDelivery(let body), .doneHandlingEvents(let body), .invalidate(let body): body
    case .listTransfers(let body): body
    case .showTransfer(let body), .cancelTransfer(let body): body
    case .watch(let body): body
    case .holdTransfer(let body), .releaseTransfer(let body), .retryTransfer(let body): body
    case .editTransfer(let body): body
    case .limit(let body): body
    case .limitApp(let body): body
    case .version, .unknown: nil
    }
  }
}
