import Dispatch
import Foundation
import Synchronization

/// Tells when names are removed from a folder or replaced, when the folder itself goes, and when a file is opened:
/// inotify(7). It does not say which of these happened.
///
/// May be used from any thread. It costs no processor time while nothing happens.
package final class PathWatcher: Sendable {
  private struct State {
    var source: (any DispatchSourceRead)?
    var folder: Int32?
  }

  private let descriptor: Int32
  private let state = Mutex(State())

  private static let folderEvents =
    UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)
    | UInt32(IN_ONLYDIR)

  /// nil when the kernel has no more watchers for this user.
  /// - Parameter changed: called after changes, on a queue of the watcher's own.
  package init?(_ changed: @escaping @Sendable () -> Void) {
    let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
    state.withLock { $0.source = PathWatcher.makeSource(descriptor, changed) }
  }

  deinit { state.withLock { $0.source?.cancel() } }

  private static func makeSource(
    _ descriptor: Int32, _ changed: @escaping @Sendable () -> Void
  ) -> sending (any DispatchSourceRead) {
    let source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "path-watcher"))
    source.setEventHandler {
      drain(descriptor)
      changed()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    return source
  }

  /// Watches the folder that has this name now, instead of the one before. Returns whether there is one.
  @discardableResult
  package func watch(folder: String) -> Bool {
    state.withLock { state in
      let watch = inotify_add_watch(descriptor, folder, PathWatcher.folderEvents)
      if let former = state.folder, former != watch { inotify_rm_watch(descriptor, former) }
      state.folder = watch < 0 ? nil : watch
      return watch >= 0
    }
  }

  /// Watches for processes that open the file. Returns whether there is one.
  @discardableResult
  package func watch(openingOf file: String) -> Bool {
    inotify_add_watch(descriptor, file, UInt32(IN_OPEN)) >= 0
  }

  /// Watches for processes that open one of the files. Returns whether it is told of that: false where the kernel has no more
  /// watches for this user. A file that does not exist is not opened; it has to be watched once it is there.
  package func watch(openingsOf files: [String]) -> Bool {
    files.map { watch(openingOf: $0) || access($0, F_OK) != 0 }.allSatisfy(\.self)
  }

  /// The events only say that something changed; so does an overflow of their queue.
  private static func drain(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4 * 1024)
    while read(descriptor, &buffer, buffer.count) > 0 {}
  }
}
