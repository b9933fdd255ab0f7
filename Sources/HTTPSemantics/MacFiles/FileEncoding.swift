/// An encoding of whole files that a download can undo.
package enum FileEncoding: CaseIterable, Sendable {
  case gzip, macBinary, binHex

  /// The media type by which apps know it.
  package var mediaType: String {
    switch self {
    case .gzip: "application/gzip"
    case .macBinary: "application/macbinary"
    case .binHex: "application/mac-binhex40"
    }
  }

  private var otherMediaTypes: Set<String> {
    switch self {
    case .gzip: ["application/x-gzip"]
    case .macBinary: ["application/x-macbinary"]
    case .binHex:
      ["application/binhex", "application/mac-binhex", "application/x-binhex40", "application/x-mac-binhex40"]
    }
  }

  /// Extensions of file names, without the dot and in lower case.
  private var extensions: Set<String> {
    switch self {
    case .gzip: ["gz"]
    case .macBinary: ["bin", "macbin"]
    case .binHex: ["hqx"]
    }
  }

  /// The encoding of a media type, in whatever case it is written; nil for another.
  package init?(mediaType: String) {
    let type = mediaType.lowercased()
    let found = FileEncoding.allCases.first { $0.mediaType == type || $0.otherMediaTypes.contains(type) }
    guard let found else { return nil }
    self = found
  }

  /// The encodings of a file, outermost first.
  ///
  /// The media type names the outermost. Where it names none of them and is not about another format (no type, or one
  /// of bytes of any kind) the extension does; a plain `.bin` alone says nothing. The extensions of the name tell what is
  /// inside.
  package static func layers(mediaType: String?, filename: String) -> [FileEncoding] {
    var layers: [FileEncoding] = []
    var name = filename
    if let outermost = mediaType.flatMap({ FileEncoding(mediaType: $0) }) {
      layers.append(outermost)
      name = outermost.decodedName(name)
    } else {
      let types: Set<String> = ["application/octet-stream", "application/x-unknown", "text/plain"]
      guard mediaType.map({ types.contains($0.lowercased()) }) ?? true,
        let outermost = ofExtension(of: name), outermost != .macBinary
      else { return [] }
      layers.append(outermost)
      name = outermost.decodedName(name)
    }
    while let next = ofExtension(of: name), layers.count < allCases.count {
      layers.append(next)
      name = next.decodedName(name)
    }
    return layers
  }

  private static func ofExtension(of name: String) -> FileEncoding? {
    guard let ending = PathText.pathExtension(of: name) else { return nil }
    return allCases.first { $0.extensions.contains(ending.lowercased()) }
  }

  /// The name of the file that comes out: without the extension of the encoding.
  package func decodedName(_ name: String) -> String {
    guard let ending = PathText.pathExtension(of: name) else { return name }
    if ending.lowercased() == "tgz", self == .gzip { return name.dropLast(3) + "tar" }
    return extensions.contains(ending.lowercased()) ? String(name.dropLast(ending.count + 1)) : name
  }
}
