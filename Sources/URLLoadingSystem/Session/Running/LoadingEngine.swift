import Foundation
import HTTPTransport

/// Runs tasks in this process: each is one load through the pipeline.
final class LoadingEngine: TaskEngine {
  private let settings: LoadSettings
  let transport: HTTPTransport

  init(_ configuration: LoadConfiguration) {
    settings = LoadSettings(configuration)
    transport = HTTPTransport(configuration: configuration.transport)
  }

  func makeWork(for task: URLSessionTask, from start: TaskStart) -> any TaskWork {
    let load = TaskLoad.make(for: task, start: start)
    // An observer is code of the app's, which is not to run within `resume()`.
    let isWatched = task.flags.load(ordering: .acquiring) & TaskFlags.isWatched != 0
    return LoadContext(
      for: start.request?.url, settings: settings, transport: transport, client: load,
      anchor: task.creation, mayBeginInline: load.isPlain && !isWatched && task is URLSessionDataTask)
  }

  /// A context for a load that is no task's.
  func makeContext(for url: URL?, client: any LoadClient) -> LoadContext {
    LoadContext(for: url, settings: settings, transport: transport, client: client, anchor: DateAnchor())
  }

  func flush(_ completion: @escaping @Sendable () -> Void) {
    transport.closeIdleConnections()
    completion()
  }

  func forgetServers() {
    transport.alternatives.removeAll()
    settings.configuration.authentication?.removeAll()
    settings.configuration.hsts?.removeAll()
  }

  func shutDown() { transport.shutDown() }
}

extension LoadContext: TaskWork {
  func begin(_ task: URLSessionTask) {
    guard let load = client as? TaskLoad else { return }
    task.tellConsumers { .running }
    entry.execute {
      self.setPriority(load.start.priority)
      load.begin(in: self)
    }
  }

  func suspensionChanged(of task: URLSessionTask) {
    // Decided on the loop: of several changes at once the last to get here sees the final state. Meanwhile another task
    // may have taken over the load, and the suspension with it.
    entry.execute {
      let present = (self.client as? TaskLoad)?.task ?? task
      if present.isSuspended { self.control.suspend() } else { self.control.resume() }
    }
  }

  func hintsChanged(of task: URLSessionTask) { loop.execute { self.setPriority(task.presentPriority) } }

  func cancel(_ task: URLSessionTask) {
    // An open WebSocket that is to be closed with a code ends by itself;
    // one that is suspended goes on for that.
    if let task = task as? URLSessionWebSocketTask, !task.isCancelled, task.mailbox.startClosing() {
      return control.resume()
    }
    control.abort(ErrorMapping.cancelled)
  }
}
