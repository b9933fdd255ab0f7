import Foundation
import Synchronization

/// libproxy, which knows the proxy settings of GNOME, KDE and NetworkManager, and finds and evaluates PAC scripts.
/// Opened at run time where it is installed; nothing needs it.
package final class SystemProxyLibrary: Sendable {
  /// nil where the library is not installed.
  package static let shared = SystemProxyLibrary(named: "libproxy.so.1")

  private typealias Make = @convention(c) () -> OpaquePointer?
  private typealias Ask =
    @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?

  /// The library's state: one question at a time. Never closed, since the library leaves threads and handlers behind.
  private struct Factory {
    let pointer: OpaquePointer
    let ask: Ask
  }

  private let factory: Mutex<Factory>

  package init?(named name: String) {
    guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL),
      let make = dlsym(library, "px_proxy_factory_new"), let ask = dlsym(library, "px_proxy_factory_get_proxies"),
      let pointer = unsafeBitCast(make, to: Make.self)()
    else { return nil }
    factory = Mutex(Factory(pointer: pointer, ask: unsafeBitCast(ask, to: Ask.self)))
  }

  /// The proxies for `url`, best first, as URLs: `http://proxy:8080`, `socks://proxy`, `direct://`. Blocks, for as long
  /// as it takes to find and fetch a script.
  package func proxies(for url: String) -> [String] {
    factory.withLock { factory in
      guard let list = factory.ask(factory.pointer, url) else { return [] }
      var found: [String] = []
      var next = list
      while let text = next.pointee {
        found.append(String(cString: text))
        free(text)
        next += 1
      }
      free(list)
      return found
    }
  }
}
