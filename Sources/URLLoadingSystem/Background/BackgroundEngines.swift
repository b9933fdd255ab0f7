import Synchronization

/// The engines of this process, by the identifiers of their sessions. The last one that was made counts.
enum BackgroundEngines {
  private struct WeakEngine { weak var engine: BackgroundEngine? }

  private static let engines = Mutex<[String: WeakEngine]>([:])
  /// Those whose session is gone while the service was not told so yet: nothing else need hold them then.
  private static let ending = Mutex<[ObjectIdentifier: BackgroundEngine]>([:])

  static func add(_ engine: BackgroundEngine) {
    engines.withLock { $0[engine.identifier] = WeakEngine(engine: engine) }
  }

  static func remove(_ engine: BackgroundEngine) {
    engines.withLock { if $0[engine.identifier]?.engine === engine { $0[engine.identifier] = nil } }
    _ = ending.withLock { $0.removeValue(forKey: ObjectIdentifier(engine)) }
  }

  /// Holds an engine until it is removed.
  static func hold(_ engine: BackgroundEngine) { ending.withLock { $0[ObjectIdentifier(engine)] = engine } }

  static func engine(of identifier: String) -> BackgroundEngine? { engines.withLock { $0[identifier]?.engine } }
}
