import Foundation

/// libpsl with the list of public suffixes that the system keeps up to date. Opened at run time where it is installed.
/// May be used from any thread: the list does not change once it is read.
package final class PublicSuffixLibrary: @unchecked Sendable {
  // Sendable by hand: the pointer is a constant, and the library only reads behind it.

  /// nil where the library is not installed or has no list. The first use reads the list from the disk.
  package static let shared = PublicSuffixLibrary(named: name)

  static let name = "libpsl.so.5"

  private typealias Latest = @convention(c) (UnsafePointer<CChar>?) -> OpaquePointer?
  private typealias IsSuffix = @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> CInt
  private typealias Registrable = @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> UnsafePointer<CChar>?

  private let list: OpaquePointer
  private let isSuffix: IsSuffix
  private let registrable: Registrable

  package init?(named name: String) {
    guard let library = RuntimeLibrary(named: name), let latest: Latest = try? library.function("psl_latest"),
      let isSuffix: IsSuffix = try? library.function("psl_is_public_suffix"),
      let registrable: Registrable = try? library.function("psl_registrable_domain"),
      // nil: the newer one of the system's list and that which the library was built with.
      let list = latest(nil)
    else { return nil }
    self.list = list
    self.isSuffix = isSuffix
    self.registrable = registrable
  }

  /// Whether names below `domain` are registered by anyone. A domain that the list does not have is one when it has one
  /// label. In lower case, other scripts in Punycode; a dot at the end (`co.uk.`) makes no difference.
  package func isPublicSuffix(_ domain: String) -> Bool {
    isSuffix(list, String(PublicSuffixLibrary.withoutRoot(domain))) != 0
  }

  /// The public suffix that `host` ends in with one label more, and with the dot at the end that `host` has; nil when
  /// `host` has no more.
  package func registrableDomain(of host: String) -> String? {
    let name = PublicSuffixLibrary.withoutRoot(host)
    // No host begins with a dot, which the library skips.
    guard !name.isEmpty, name.utf8.first != UInt8(ascii: ".") else { return nil }
    // The answer points into what was asked, which lives as long as the call.
    let domain = String(name).withCString { text in registrable(list, text).map { String(cString: $0) } }
    return domain.map { $0 + (name.utf8.count < host.utf8.count ? "." : "") }
  }

  /// The name without the dot at its end, which stands for the root of all names. The library takes the empty label
  /// after it for a domain that everyone can register.
  private static func withoutRoot(_ name: String) -> Substring {
    name.utf8.last == UInt8(ascii: ".") ? name.dropLast() : name[...]
  }
}
