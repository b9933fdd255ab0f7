import Foundation
import TransferProtocol
import TransferScript
import URLLoadingSystem

/// What the service knows of the acknowledgements of this app. The service is asked, since an acknowledgement counts when
/// the service has it on the disk, which an app is not told.
actor Acknowledgements {
  private var isAsking = false
  private var isWantedAgain = false

  /// Asks once at a time: an app that is told to ask more often than the answers come asks once more.
  func log(to script: AppScript) async throws {
    isWantedAgain = isAsking
    guard !isAsking else { return }
    isAsking = true
    defer { isAsking = false }
    repeat {
      isWantedAgain = false
      try await ask(script)
    } while isWantedAgain
  }

  private func ask(_ script: AppScript) async throws {
    let service = try await ServiceConnection.open(startsService: false)
    defer { service.close() }
    var (labels, others): ([String], [String]) = ([], [])
    var after: Int64 = 0
    while true {
      let list = ListTransfers(after: after, includesFinished: true, ofEveryApp: nil)
      guard case .transfers(let page) = try await service.request(.listTransfers(list)) else { return }
      for transfer in page.transfers {
        guard !transfer.isAcknowledged else {
          labels.append(transfer.taskDescription ?? "")
          continue
        }
        let waiting = transfer.waiting?.sentence ?? ""
        others.append("\(transfer.transfer) \(transfer.taskDescription ?? "") \(transfer.state.rawValue) \(waiting)")
      }
      guard let next = page.next, next > after else { break }
      after = next
    }
    var entry = AppEntry(.acknowledged)
    entry.labels = labels
    entry.count = others.count
    entry.text = others.isEmpty ? nil : others.joined(separator: "; ")
    script.log(entry)
  }
}
