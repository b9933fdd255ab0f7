import Foundation
import URLLoadingSystem

/// Loads through the shared session what `NSData`, `NSString` and their subclasses are asked for and is no file.
///
/// Foundation looks for a class of this name in a module of this name, and ends the process when there is none.
@usableFromInline
final class _NSNonfileURLContentLoader: _NSNonfileURLContentLoading {
  @usableFromInline
  init() {}

  @usableFromInline
  func contentsOf(url: URL) throws -> (result: NSData, textEncodingNameIfAvailable: String?) {
    let contents = try RemoteContents(of: url)
    return (NSData(data: contents.data), contents.textEncodingName)
  }
}
