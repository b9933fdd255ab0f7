import ArgumentParser
import Foundation
import Logging
import ServiceLifecycle
import SystemServices
import TransferProtocol
import TransferService

/// The transfer service of one user.
struct ServiceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: ServiceNames.program,
    abstract: "Moves the bytes of background sessions while their apps run, sleep or are gone.",
    discussion: """
      Started by the first app that needs it, by systemd through its socket, or by hand. One runs for each user. \
      What apps handed over is kept in the state folder until they have acknowledged it.
      """,
    version: ProgramVersion.current)

  /// How long a service that was started for an app stays when there is nothing to do.
  private static let idleExit: TimeInterval = 60

  @Option(
    help: ArgumentHelp(
      "Where the socket is. Default: $\(ServiceNames.socketVariable), else $XDG_RUNTIME_DIR/urlsessiond/socket.",
      valueName: "path"))
  var socket: String?

  @Option(
    help: ArgumentHelp(
      "Where the queue and the files are kept. Default: $XDG_STATE_HOME/urlsessiond.", valueName: "path"))
  var stateDir: String?

  @Option(help: "What is logged: trace, debug, info, notice, warning, error or critical.")
  var logLevel: Logger.Level = .info

  @Option(
    help: ArgumentHelp(
      """
      End when there was nothing to do for so long; 0 means never. Default: never when started by hand, \
      \(Int(ServiceCommand.idleExit)) when started for an app.
      """, valueName: "seconds"))
  var idleExit: Double?

  @Flag(help: "Stay until told to end, also when started for an app.")
  var foreground = false

  @Flag(help: "Start the service in a session of its own, with its log in the state folder, and return at once.")
  var spawnDetached = false

  @Flag(help: ArgumentHelp("Start the service, and again whenever it crashes.", visibility: .hidden))
  var supervise = false

  @Option(help: ArgumentHelp("The file that standard error is; the service limits its size.", visibility: .hidden))
  var logFile: String?

  @Flag(help: ArgumentHelp("Answer a supervisor over descriptor 3.", visibility: .hidden))
  var supervised = false

  @Option(help: ArgumentHelp("How the worker before this one ended.", visibility: .hidden))
  var after: String?

  @Flag(help: ArgumentHelp("Close descriptor 3 once the service has started.", visibility: .hidden))
  var reportStart = false

  func validate() throws {
    if let idleExit, !(0...1e9).contains(idleExit) { throw ValidationError("--idle-exit takes 0 or more seconds.") }
    if spawnDetached, foreground { throw ValidationError("--foreground and --spawn-detached contradict each other.") }
  }

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    let directories = try UserDirectories()
    let state = stateDir.map(ServiceCommand.absolute) ?? "\(directories.state)/\(ServiceNames.directory)"
    let socket = socketPath(directories)
    if spawnDetached {
      try DetachedService.start(state: state, socket: socket, logLevel: logLevel, idleExit: idleExit ?? Self.idleExit)
      return
    }

    if supervise {
      let startReport = reportStart ? DetachedProcess.channelDescriptor : nil
      if let startReport { _ = fcntl(startReport, F_SETFD, FD_CLOEXEC) }
      var log = Logger(label: ServiceNames.program + " supervisor") { _ in StandardErrorLog() }
      log.logLevel = logLevel
      guard let held = try await SupervisorLock(socket: socket, state: state).acquire(log: log) else { return }
      defer { withExtendedLifetime(held.lock) {} }
      ProcessLimits.own()
      if let reason = await ServiceScope.enter() {
        log.notice("the service stays in the unit of the app that started it: \(reason)")
      }
      let arguments = CommandLine.arguments.dropFirst().filter { !["--supervise", "--report-start"].contains($0) }
      let supervisor = try Supervisor(
        arguments: arguments + ["--supervised"],
        locks: [held.path, TransferDaemon.lockPath(stateDirectory: state)],
        startReport: startReport, log: log)
      return try await ServiceGroup.run(supervisor, name: "supervisor", log: log)
    }

    ProcessLimits.own()
    let sockets = SocketActivation.takeSockets()
    let notifier = ServiceNotifier.takingEnvironment()
    UserEnvironment.reduceToService()
    let file = logFile.map { LogFile(path: $0, descriptor: STDERR_FILENO) }
    var log = Logger(label: ServiceNames.program) { _ in StandardErrorLog(file: file) }
    log.logLevel = logLevel

    var configuration = TransferDaemon.Configuration(stateDirectory: state, socketPath: socket, log: log)
    configuration.adoptedSocket = sockets.first
    configuration.settings.countsCrashes = after != WorkerEnd.killed.rawValue
    configuration.settings.programVersion = ProgramVersion.current
    configuration.settings.usersTool = .besideThisProcess()
    configuration.settings.isProgramReplaced = { [program = ExecutedProgram()] in program?.isReplaced ?? false }
    // One at another place is not for apps that have no folder named to them.
    let isUsual = state == "\(directories.state)/\(ServiceNames.directory)" && socket == usualSocketPath(directories)
    configuration.notePath = isUsual ? ServiceNote.path() : nil
    let patience = idleExit ?? (sockets.isEmpty ? 0 : Self.idleExit)
    configuration.settings.idleExit = foreground || patience == 0 ? nil : patience
    configuration.settings.rests = { ProcessMemory.release() }
    configuration.settings.releasesMemory = { ProcessMemory.release() }
    // Nothing of ours is relative to a folder, and none is kept from being unmounted.
    _ = chdir("/")

    let service = DaemonService(configuration: configuration, notifier: notifier, answersSupervisor: supervised)
    try await ServiceGroup.run(service, name: "transfer service", log: log)
  }

  private func socketPath(_ directories: UserDirectories) -> String {
    if let socket { return ServiceCommand.absolute(socket) }
    if let path = ProcessInfo.processInfo.environment[ServiceNames.socketVariable], path.hasPrefix("/") { return path }
    return usualSocketPath(directories)
  }

  private func usualSocketPath(_ directories: UserDirectories) -> String {
    "\(directories.runtime)/\(ServiceNames.directory)/\(ServiceNames.socket)"
  }

  private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
