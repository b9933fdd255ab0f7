import ArgumentParser
import Foundation
import TransferProtocol
import URLLoadingSystem

/// `urlsession cancel`
struct CancelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancel transfers; what they have received so far is thrown away.")

  @Argument(help: TransferNumbers.help) var ids: [Int64]
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func run() async throws {
    var unknown: [Int64] = []
    do {
      let service = try await ServiceConnection.open()
      defer { service.close() }
      for id in ids {
        guard let status = try await service.transfer(id)?.status else {
          unknown.append(id)
          continue
        }
        guard status.state != .completed else {
          say("Transfer \(id): already over")
          continue
        }
        _ = try await service.request(.cancelTransfer(TransferReference(transfer: id)))
        say("Transfer \(id): cancelled")
      }
    } catch { throw CommandFailure.service(error) }
    if !unknown.isEmpty { throw CommandFailure.unknown(transfers: unknown) }
  }

  private func say(_ line: String) { if !quiet { StandardOutput.print(line) } }
}
