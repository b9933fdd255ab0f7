import SystemServices

/// Open files that came with a request. They count against the limits of their app until the last copy of this is gone.
package struct PassedFiles: Sendable {
  package let files: [SourceFile]
  private let share: Share?

  package init(_ files: [SourceFile]) { self.init(files, share: nil) }

  init(_ files: [SourceFile], share: Share?) {
    self.files = files
    self.share = share
  }

  /// Places for open files that an app takes.
  final class Share: Sendable {
    let count: Int
    private let end: @Sendable (Int) -> Void

    init(_ count: Int, end: @escaping @Sendable (Int) -> Void) {
      self.count = count
      self.end = end
    }

    deinit { end(count) }
  }
}
