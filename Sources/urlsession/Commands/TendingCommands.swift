import ArgumentParser
import Foundation
import TransferProtocol
import URLLoadingSystem

/// `urlsession pause`
struct PauseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Pause transfers until they are resumed here, whatever their apps do.",
    usage: "urlsession pause <id> ... | --app <path> | --all  [-q]",
    discussion: """
      What has arrived is kept. An app that resumes its transfer does not end the pause. Transfers that come later are not \
      paused.
      """)

  @OptionGroup var choice: TransferChoice
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func run() async throws {
    try await TendedTransfers(choice.selection, isQuiet: quiet).each { status, service in
      guard status.waiting?.code != TransferReport.pausedCode else { return "paused already" }
      _ = try await service.request(.holdTransfer(TransferReference(transfer: status.transfer)))
      return "paused"
    }
  }
}

/// `urlsession resume`
struct ResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Let transfers go on that are paused or set aside.",
    usage: "urlsession resume <id> ... | --app <path> | --all  [-q]",
    discussion: """
      A transfer that its app has suspended goes on when the app resumes it. One that ran at several crashes of the transfer \
      service is set aside until it is resumed.
      """)

  @OptionGroup var choice: TransferChoice
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func run() async throws {
    try await TendedTransfers(choice.selection, isQuiet: quiet).each { status, service in
      let code = status.waiting?.code
      guard code == TransferReport.pausedCode || code == TransferReport.setAsideCode else {
        return status.state == .suspended ? "not paused; its app has suspended it" : "not paused"
      }
      _ = try await service.request(.releaseTransfer(TransferReference(transfer: status.transfer)))
      return status.state == .suspended
        ? "no longer \(code == TransferReport.pausedCode ? "paused" : "set aside"); its app has suspended it"
        : "resumed"
    }
  }
}

/// `urlsession retry`
struct RetryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Try transfers now that wait for their next try.",
    discussion: """
      A download of this program that has failed, was cancelled, or is lost with the queue begins again, with another number, \
      where its command was the URL with no option of the request; one that has failed goes on from what had arrived. A transfer of \
      another app that is over can't be tried again, since its app was told: begin a new one there.
      """)

  @Argument(help: TransferNumbers.help) var ids: [Int64]
  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func run() async throws {
    try await TendedTransfers(ids: ids, isQuiet: quiet).each(ended: { try await $0.beginAgain() }) { status, service in
      guard status.state != .running else { return "running already" }
      _ = try await service.request(.retryTransfer(TransferReference(transfer: status.transfer)))
      return status.waiting?.code == "earliestBegin" ? "begins when its app wants it to" : "tried now"
    }
  }
}

/// `urlsession edit`
struct EditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit", abstract: "Change the request of a transfer that is not over.",
    discussion: """
      One that runs is begun again with the new request, from where it is. Where the new URL differs from the former one in \
      more than its query, what has arrived is thrown away.
      """)

  @Argument(help: ArgumentHelp("The transfer's number.", valueName: "id")) var id: Int64

  @Option(help: ArgumentHelp("The new URL.", valueName: "url")) var url: URLArgument?

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: ArgumentHelp(
      "A header field that replaces those of the same name; may be given several times.", valueName: "Name: value"))
  var headers: [HeaderArgument] = []

  @Option(
    help: ArgumentHelp("The name of a header field to remove; may be given several times.", valueName: "name"))
  var removeHeader: [String] = []

  @Option(help: "How it ranks among its app's transfers.") var priority: TransferPriority?

  @Flag(inversion: .prefixedNo, help: "Use networks of mobile operators.") var cellular: Bool?
  @Flag(inversion: .prefixedNo, help: "Use networks that cost money by the byte.") var expensive: Bool?
  @Flag(inversion: .prefixedNo, help: "Use networks on which data is to be saved.") var constrained: Bool?

  @Flag(name: [.short, .long], help: "Print nothing but errors.") var quiet = false

  func validate() throws {
    if let url, !url.isHTTP { throw ValidationError("transfers in the background are of http and https URLs") }
    guard edit.changesRequest || edit.priority != nil else { throw ValidationError("say what is to be changed") }
  }

  var edit: EditTransfer {
    var edit = EditTransfer(transfer: id)
    edit.url = url?.url.absoluteString
    if !headers.isEmpty { edit.fields = headers.map { HeaderField($0.name, $0.value) } }
    if !removeHeader.isEmpty { edit.removedFields = removeHeader }
    edit.priority = priority?.value
    edit.allowsCellularAccess = cellular
    edit.allowsExpensiveNetworkAccess = expensive
    edit.allowsConstrainedNetworkAccess = constrained
    return edit
  }

  func run() async throws {
    let edit = edit
    let records = try RecordStore.usual()
    try await TendedTransfers(ids: [id], isQuiet: quiet).each { status, service in
      _ = try await service.request(.editTransfer(edit))
      if status.isOfThisProgram {
        _ = try? records.update(status.session) { $0?.edited(edit) }
      }
      return "changed"
    }
  }
}
