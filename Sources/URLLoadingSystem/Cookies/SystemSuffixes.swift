import HTTPSemantics
import Synchronization
import SystemServices

extension PublicSuffixLibrary: PublicSuffixes {}

/// The list of public suffixes of this machine. Read from the disk at its first use, which event loops leave to others.
enum SystemSuffixes {
  private static let hasRead = Atomic<Bool>(false)

  /// Whether `list` does not wait for the disk.
  static var isRead: Bool { hasRead.load(ordering: .acquiring) }

  /// nil where libpsl is not installed: `CookieRules` is then stricter than it would have to be.
  static var list: (any PublicSuffixes)? {
    let list = PublicSuffixLibrary.shared
    if !isRead { hasRead.store(true, ordering: .releasing) }
    return list
  }
}
