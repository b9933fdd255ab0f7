/// The answer to one request.
package enum ServiceReply: Sendable, Equatable {
  case done
  case hello(HelloReply)
  case version(ServiceVersion)
  case attached(Attached)
  case tasks(TaskPage)
  case created(CreatedTasks)
  case cancelled(CancelledTask)
  case transfers(TransferPage)
  case transfer(TransferSnapshot)
  case refused(Refusal)
  /// A reply of a newer service.
  case unknown(String)

  var name: String {
    switch self {
    case .done: "done"
    case .hello: "hello"
    case .version: "version"
    case .attached: "attached"
    case .tasks: "tasks"
    case .created: "created"
    case .cancelled: "cancelled"
    case .transfers: "transfers"
    case .transfer: "transfer"
    case .refused: "refused"
    case .unknown(let name): name
    }
  }

  var body: (any Encodable)? {
    switch self {
    case .done, .unknown: nil
    case .hello(let body): body
    case .version(let body): body
    case .attached(let body): body
    case .tasks(let body): body
    case .created(let body): body
    case .cancelled(let body): body
    case .transfers(let body): body
    case .transfer(let body): body
    case .refused(let body): body
    }
  }
}
