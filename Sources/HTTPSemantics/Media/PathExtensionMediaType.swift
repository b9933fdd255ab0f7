/// Media types by file name extension, for machines without a database of them.
package enum PathExtensionMediaType {
  /// The media type of files named `*.ext`; nil when the extension says nothing.
  package static func knownMediaType(forPathExtension ext: String) -> String? { byExtension[ext.asciiLowercased()] }

  private static let byExtension: [String: String] = {
    var map: [String: String] = ["jpg": "image/jpeg", "htm": "text/html", "tif": "image/tiff", "mpg": "video/mpeg"]
    // Several types share an extension; the shortest, then first, is the one without an `x-`.
    for (type, ext) in FilenameExtension.preferred.sorted(by: {
      ($0.key.contains("/x-") ? 1 : 0, $0.key) < ($1.key.contains("/x-") ? 1 : 0, $1.key)
    })
    where map[ext] == nil { map[ext] = type }
    map["xml"] = "application/xml"
    map["js"] = "text/javascript"
    return map
  }()
}
