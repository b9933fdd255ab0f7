import Foundation
import HTTPSemantics
import NIOCore
import Synchronization
import SystemServices

/// A cache of responses, in memory and on disk. May be used from any thread.
///
/// Sessions store in it what HTTP allows to be stored (RFC 9111), and answer from it. A response whose body is larger
/// than a twentieth of the disk capacity is not stored on disk. Methods that find or change what is stored may wait for the
/// disk.
///
/// A subclass that overrides methods is asked by every load: for a task first (`getCachedResponse(for:completionHandler:)`,
/// `storeCachedResponse(_:for:)`), which by default asks for its request.
open class URLCache: NSObject, @unchecked Sendable {
  // Sendable by hand: what changes is behind the lock.

  struct State {
    var memory: MemoryCacheTier
    var diskCapacity: Int
    /// Made when it is needed first.
    var disk: DiskCache?
    var removals = CacheRemovals()
  }

  let state: Mutex<State>
  let fetches = SharedFetches()
  /// nil for the default folder.
  package let directory: URL?

  /// The app's cache. Default: 4 MiB in memory, 20 MiB on disk. Replace it before anything uses it.
  open class var shared: URLCache {
    get { sharedCache.withLock { $0 } }
    set { sharedCache.withLock { $0 = newValue } }
  }

  private static let sharedCache = Mutex(URLCache(memoryCapacity: 4 * 1024 * 1024, diskCapacity: 20 * 1024 * 1024))

  /// A cache with room in memory, on disk, or both.
  ///
  /// - Parameters:
  ///   - memoryCapacity: Most bytes in memory; 0 keeps nothing there.
  ///   - diskCapacity: Most bytes on disk; 0 keeps nothing there.
  ///   - directory: The folder of the files, made when it is needed first; nil: one for the app below
  ///     `$XDG_CACHE_HOME`. Several caches, also of several processes, may use one folder.
  public init(memoryCapacity: Int, diskCapacity: Int, directory: URL? = nil) {
    state = Mutex(State(memory: MemoryCacheTier(capacity: max(0, memoryCapacity)), diskCapacity: max(0, diskCapacity)))
    self.directory = directory
  }

  /// As `init(memoryCapacity:diskCapacity:directory:)`, with a path. A relative one is a folder below the app's default
  /// folder.
  public init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
    state = Mutex(State(memory: MemoryCacheTier(capacity: max(0, memoryCapacity)), diskCapacity: max(0, diskCapacity)))
    directory = path.map {
      $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : URL(fileURLWithPath: "\(URLCache.defaultDirectory)/\($0)")
    }
  }

  /// A cache that keeps nothing until it is given capacity.
  public override init() {
    state = Mutex(State(memory: MemoryCacheTier(capacity: 0), diskCapacity: 0))
    directory = nil
  }

  /// The folder of the running app's cache.
  package static var defaultDirectory: String { "\(appsDirectory)/\(AppFolder.current)/\(folderName)" }

  static let folderName = "responses"

  /// The folder of all apps' caches.
  package static var appsDirectory: String { "\(UserDirectories.cacheFolder())/\(AppFolder.library)/apps" }

  // MARK: By request

  /// The response that is stored for the request; nil when nothing is. Whether it is fresh does not matter. Of several
  /// variants it is the latest that fits the request's fields, or else the latest.
  open func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    guard let key = CacheKey(request) else { return nil }
    let (inMemory, moment) = state.withLock { ($0.memory.items(for: key), $0.removals.moment) }
    if let item = URLCache.best(of: inMemory, for: request) {
      use(item, foundAt: moment)
      return item.response
    }
    guard let disk, disk.mayHold(key) else { return nil }
    let items = disk.onQueue { disk.items(for: key) }
    guard let item = URLCache.best(of: items, for: request) else { return nil }
    guard let response = item.response else {
      discard(item.id)
      return nil
    }
    use(item, foundAt: moment)
    return response
  }

  /// Stores a response in place of an earlier one. Nothing is stored when its policy is `.notAllowed` or it does not
  /// fit.
  open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
    guard cachedResponse.storagePolicy != .notAllowed, let key = CacheKey(request) else { return }
    let now = Date()
    guard let item = CacheItem(cachedResponse, for: request, key: key, at: now) else { return }
    let fields = URLCache.selectingFields(of: request)
    state.withLock { state in
      state.removals.note(key)
      for old in state.memory.items(for: key) where old.isReplaced(by: item, fields) { state.memory.remove(old.id) }
      state.memory.store(item)
    }
    guard let disk else { return }
    let fits = item.policy == .allowed && Int(item.head.bodyLength) <= disk.capacity / 20
    if fits { disk.announce(key) }
    disk.queue.async {
      if fits { disk.store(item, for: fields) } else { disk.removeReplaced(by: item, fields) }
    }
  }

  /// Removes what is stored for the request, if anything is.
  open func removeCachedResponse(for request: URLRequest) {
    guard let key = CacheKey(request) else { return }
    remove(key)
  }

  /// Removes every response, in memory and on disk. Waits until the files are removed.
  open func removeAllCachedResponses() {
    state.withLock {
      $0.removals.noteAll()
      $0.memory.removeAll()
    }
    if let disk { disk.onQueue { disk.remove(since: nil) } }
  }

  /// Removes what was stored after `date`.
  open func removeCachedResponses(since date: Date) {
    state.withLock {
      $0.removals.noteAll()
      $0.memory.remove(since: date)
    }
    if let disk { disk.onQueue { disk.remove(since: date) } }
  }

  // A chain of many responses that is given back link by link would need as much stack.
  deinit { state.withLock { $0.memory.removeAll() } }

  /// Waits until every change so far is on the disk. For tests.
  func waitForDisk() { disk.map { disk in disk.onQueue { disk.writeAllHeads() } } }

  // MARK: Sizes

  /// Most bytes in memory. Less removes at once what has not been used for longest.
  open var memoryCapacity: Int {
    get { state.withLock { $0.memory.capacity } }
    set { state.withLock { $0.memory.capacity = max(0, newValue) } }
  }

  /// Most bytes on disk. Less removes at once what has not been used for longest.
  open var diskCapacity: Int {
    get { state.withLock { $0.diskCapacity } }
    set {
      // Responses that an earlier process has stored count too.
      let disk = self.disk
      let (known, capacity) = state.withLock {
        $0.diskCapacity = max(0, newValue)
        return ($0.disk ?? disk, $0.diskCapacity)
      }
      known?.setCapacity(capacity)
    }
  }

  /// Bytes in use in memory.
  open var currentMemoryUsage: Int { state.withLock { $0.memory.usage } }

  /// Bytes in use on disk, by all processes that use the folder.
  open var currentDiskUsage: Int {
    guard let disk else { return 0 }
    return disk.onQueue { disk.usage() }
  }

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
    await PendingAnswer.wait(fallback: nil) { answer in
      // It may wait for the disk, which no thread of Swift's tasks may.
      DispatchQueue.global().async { self.getCachedResponse(for: dataTask) { answer.give($0) } }
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
    /// In memory, until the process ends.
    case allowedInMemoryOnly = 1
    /// Nowhere.
    case notAllowed = 2
  }
}
