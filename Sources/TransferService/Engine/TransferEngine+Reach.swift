import Foundation
import SystemServices
import TransferProtocol

/// Which transfers a connection may see and change.
enum Reach: Sendable, Equatable {
  case app(AppID)
  /// The user's own tool.
  case everyApp

  func includes(_ app: AppID) -> Bool {
    switch self {
    case .app(let own): own == app
    case .everyApp: true
    }
  }

  /// nil means all.
  var app: AppID? { if case .app(let app) = self { app } else { nil } }
}

extension TransferEngine {
  /// The transfers that requests with a number may name: those of every app for the user's own tool. Numbers are unique
  /// among all apps.
  func reach(of client: any ServiceClient) throws -> Reach {
    let app = try appID(of: client)
    return isUsersTool(client) ? .everyApp : .app(app)
  }

  /// The transfers that a list is of. A list of every app has to be asked for: a program that lists its own transfers
  /// gets no others by being the tool.
  func reach(of client: any ServiceClient, ofEveryApp: Bool?) throws -> Reach {
    let app = try appID(of: client)
    guard ofEveryApp == true else { return .app(app) }
    guard isUsersTool(client) else {
      throw Refusal(
        .notPermitted,
        "Only the \(UsersTool.name) that is installed beside the transfer service sees the transfers of every app.")
    }
    return .everyApp
  }

  /// Found out once for each connection: its program is that of the time when it connected.
  private func isUsersTool(_ client: any ServiceClient) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    if let known = clients[client.id]?.isUsersTool { return known }
    let isTool = settings.usersTool?.isProgram(client.peer.executable) ?? false
    clients[client.id]?.isUsersTool = isTool
    return isTool
  }
}
