import Synchronization

/// The engines of this process, by the identifiers of their sessions. The last one that was made counts.
enum BackgroundEngines {
  private struct WeakEngine { weak var engine: BackgroundEngine? }

  private static let engines = Mutex<[String: WeakEngine]>([:])

  static func add(_ engine: BackgroundEngine) {
    engines.withLock { $0[engine.identifier] = WeakEngine(engine: engine) }
  }

  static func remove(_ engine: BackgroundEngine) {
    engines.withLock { if $0[engine.identifier]?.engine === engine { $0[engine.identifier] = nil } }
  }

  static func engine(of identifier: String) -> BackgroundEngine? { engines.withLock { $0[identifier]?.engine } }
}
