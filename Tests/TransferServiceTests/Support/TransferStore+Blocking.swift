import Dispatch
import Foundation
import Synchronization
import SystemServices
import TransferProtocol

@testable import TransferService

/// Changes of the queue that a test waits for. They are on the disk when the call returns.
extension TransferStore {
  private func blocking<Value: Sendable>(
    _ begin: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
  ) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<Value, any Error>?>(nil)
    begin { result in
      outcome.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    guard let result = outcome.withLock({ $0 }) else { throw CancellationError() }
    return try result.get()
  }

  func app(for executable: ExecutableIdentity) throws -> AppID { try blocking { app(for: executable, ended: $0) } }

  func attach(
    app: AppID, identifier: String, options: SessionOptions, sealedOptions: Data? = nil, sealedFields: Data? = nil,
    limits: SessionLimits = .none, sparing: Set<SessionID> = []
  ) throws -> StoredSession {
    try blocking {
      attach(
        app: app, identifier: identifier, options: options, sealedOptions: sealedOptions, sealedFields: sealedFields,
        limits: limits, sparing: sparing, ended: $0)
    }
  }

  func setState(_ state: StoredState, of transfers: [TransferID]) throws {
    try blocking { setState(state, of: transfers, ended: $0) }
  }

  func acknowledge(_ sequences: [Int64], session: SessionID) throws -> Acknowledgement {
    try blocking { acknowledge(sequences, session: session, ended: $0) }
  }

  func invalidate(_ session: SessionID) throws -> [TransferID] { try blocking { invalidate(session, ended: $0) } }

  @discardableResult
  func fileIsLost(of transfer: TransferID, session: SessionID, failure: TransferFailure) throws -> Int {
    try blocking { fileIsLost(of: transfer, session: session, failure: failure, ended: $0) }
  }

  func setJudgesConnections(of session: SessionID) throws {
    try blocking { setJudgesConnections(of: session, ended: $0) }
  }

  func forgetCrashes(of transfer: TransferID) throws { try blocking { forgetCrashes(of: transfer, ended: $0) } }

  func countAbsence(at date: Date, present: Set<AppID> = []) throws {
    try blocking { countAbsence(at: date, present: present, ended: $0) }
  }
}
