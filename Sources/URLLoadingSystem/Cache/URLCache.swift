import Foundation
import Synchronization

/// A cache of responses, in memory and on disk. May be used from any thread.
open class URLCache: NSObject, @unchecked Sendable {
  // Sendable by hand: what changes is behind the lock.

  private struct State {
    var memory: MemoryCacheTier
    var diskCapacity: Int
  }

  private let state: Mutex<State>
  package let directory: URL?

  /// The app's cache. Default: 4 MiB in memory, 20 MiB on disk. Replace it before anything uses it.
  open class var shared: URLCache {
    get { sharedCache.withLock { $0 } }
    set { sharedCache.withLock { $0 = newValue } }
  }

  private static let sharedCache = Mutex(URLCache(memoryCapacity: 4 * 1024 * 1024, diskCapacity: 20 * 1024 * 1024))

  /// - Parameters:
  ///   - memoryCapacity: Most bytes in memory; 0 keeps nothing there.
  ///   - diskCapacity: Most bytes on disk; 0 keeps nothing there.
  ///   - directory: Where the files go; nil: the default place.
  public init(memoryCapacity: Int, diskCapacity: Int, directory: URL? = nil) {
    state = Mutex(State(memory: MemoryCacheTier(capacity: max(0, memoryCapacity)), diskCapacity: max(0, diskCapacity)))
    self.directory = directory
  }

  /// As `init(memoryCapacity:diskCapacity:directory:)`, with a path.
  public init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
    state = Mutex(State(memory: MemoryCacheTier(capacity: max(0, memoryCapacity)), diskCapacity: max(0, diskCapacity)))
    directory = path.map { URL(fileURLWithPath: $0) }
  }

  /// A cache that keeps nothing until it is given capacity.
  public override init() {
    state = Mutex(State(memory: MemoryCacheTier(capacity: 0), diskCapacity: 0))
    directory = nil
  }

  // MARK: By request

  /// The response that is stored for the request; nil when nothing is.
  open func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    guard let key = CacheKey(request) else { return nil }
    return state.withLock { $0.memory.response(for: key) }
  }

  /// Stores a response in place of an earlier one. Nothing is stored when its policy is `.notAllowed` or it does not
  /// fit.
  open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
    guard cachedResponse.storagePolicy != .notAllowed, let key = CacheKey(request) else { return }
    state.withLock { $0.memory.store(cachedResponse, for: key, at: Date()) }
  }

  /// Removes what is stored for the request, if anything is.
  open func removeCachedResponse(for request: URLRequest) {
    guard let key = CacheKey(request) else { return }
    state.withLock { $0.memory.remove(key) }
  }

  open func removeAllCachedResponses() { state.withLock { $0.memory.removeAll() } }

  /// Removes what was stored after `date`.
  open func removeCachedResponses(since date: Date) { state.withLock { $0.memory.remove(since: date) } }

  // MARK: Sizes

  /// Most bytes in memory. Less removes at once what has not been used for longest.
  open var memoryCapacity: Int {
    get { state.withLock { $0.memory.capacity } }
    set { state.withLock { $0.memory.capacity = max(0, newValue) } }
  }

  /// Most bytes on disk.
  open var diskCapacity: Int {
    get { state.withLock { $0.diskCapacity } }
    set { state.withLock { $0.diskCapacity = max(0, newValue) } }
  }

  /// Bytes in use in memory.
  open var currentMemoryUsage: Int { state.withLock { $0.memory.usage } }

  /// Bytes in use on disk. Nothing is kept there yet.
  open var currentDiskUsage: Int { 0 }

  // MARK: By task

  /// Stores a task's response. Loads call this one: override it to decide task by task.
  open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
    guard let request = dataTask.currentRequest else { return }
    storeCachedResponse(cachedResponse, for: request)
  }

  /// Finds what is stored for a task and calls `completionHandler` with it, on the calling thread.
  @preconcurrency
  open func getCachedResponse(
    for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) {
    completionHandler(dataTask.currentRequest.flatMap { cachedResponse(for: $0) })
  }

  /// The response that is stored for a task; nil when nothing is.
  public func cachedResponse(for dataTask: URLSessionDataTask) async -> CachedURLResponse? {
    await withCheckedContinuation { continuation in
      getCachedResponse(for: dataTask) { continuation.resume(returning: $0) }
    }
  }

  /// Removes what is stored for a task, if anything is.
  open func removeCachedResponse(for dataTask: URLSessionDataTask) {
    guard let request = dataTask.currentRequest else { return }
    removeCachedResponse(for: request)
  }
}

extension URLCache {
  /// The storage in which a response may be kept.
  public enum StoragePolicy: UInt, Sendable {
    /// In memory and on disk.
    case allowed = 0
    case allowedInMemoryOnly = 1
    /// Nowhere.
    case notAllowed = 2
  }
}
