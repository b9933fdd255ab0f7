import Foundation

extension SchemeLoaders {
  private static let schemes: Set<String> = ["http", "https", "http+unix", "ftp", "ftps", "file", "data"]

  /// Whether one of the loaders serves the scheme of `url`.
  static func handles(_ url: URL?) -> Bool { url?.scheme.map { schemes.contains($0.lowercased()) } ?? false }
}
