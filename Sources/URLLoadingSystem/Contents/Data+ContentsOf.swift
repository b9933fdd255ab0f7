import Foundation
@_spi(SwiftCorelibsFoundation) import FoundationEssentials

extension Data {
  /// Loads through the shared session what `Data(contentsOf:options:)` is asked for and is no file.
  ///
  /// Foundation calls the initialiser that this one replaces, in the whole process. `String(contentsOf:encoding:)` reads
  /// by way of `Data`. The options concern files only.
  @_dynamicReplacement(for:init(_contentsOfRemote:options:))
  private init(contentsOfRemote url: URL, options: ReadingOptions = []) throws {
    self = try RemoteContents(of: url).data
  }
}
