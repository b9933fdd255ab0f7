import Foundation
import HTTPSemantics

/// The length of a response whose length is not known in advance.
public let NSURLResponseUnknownLength: Int64 = -1

/// The answer to a request, without its body: where it is from, of what kind, how long.
///
/// Immutable, so it may be used from any thread. What is derived from the protocol's answer (type, length, name) is
/// worked out when it is asked for.
open class URLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed: one constant of a Sendable type.
  private let declared: Declared

  private struct Declared: Sendable, Equatable {
    var url: URL?
    var mimeType: String?
    var length = NSURLResponseUnknownLength
    var textEncodingName: String?
  }

  /// A response that was not received but made up.
  ///
  /// - Parameters:
  ///   - URL: The URL that the response stands for.
  ///   - MIMEType: The media type without parameters, nil when it is not known.
  ///   - length: The body's length in bytes, -1 when it is not known.
  ///   - name: The IANA name of the text encoding, nil when there is none.
  public init(
    url URL: URL, mimeType MIMEType: String?, expectedContentLength length: Int, textEncodingName name: String?
  ) {
    declared = Declared(url: URL, mimeType: MIMEType, length: Int64(length), textEncodingName: name)
  }

  /// A response without URL, type or known length.
  public override init() { declared = Declared() }

  /// The response of a loader. A length that does not fit `Int` is kept.
  package init(url: URL?, declaredMIMEType: String?, length: Int64 = -1, textEncodingName: String? = nil) {
    declared = Declared(url: url, mimeType: declaredMIMEType, length: length, textEncodingName: textEncodingName)
  }

  /// The URL that the response came from: after redirects, the last URL.
  open var url: URL? { declared.url }

  /// The media type, such as `text/html`, without parameters. nil when it is not known.
  open var mimeType: String? { declared.mimeType }

  /// The body's length in bytes, or `NSURLResponseUnknownLength` (-1). A promise that the body may break.
  open var expectedContentLength: Int64 { declared.length }

  /// The IANA name of the body's text encoding, such as `utf-8`; nil when none was named.
  open var textEncodingName: String? { declared.textEncodingName }

  /// A name under which to save the body: what the server suggests, else the last part of the URL's path, else the
  /// host, else "unknown". An extension that fits the type is added when there is none. Never contains a slash.
  open var suggestedFilename: String? {
    let url = self.url
    let path = url?.path(percentEncoded: true) ?? ""
    return SuggestedFilename.choose(
      contentDisposition: contentDisposition,
      path: url?.isFTP == true ? FTPResource.withoutType(path) : path, host: url?.host,
      mediaType: mimeType)
  }

  /// The Content-Disposition field, for protocols that have one.
  var contentDisposition: String? { nil }

  // MARK: Copying and comparing

  /// The response itself, since it never changes.
  open override func copy() -> Any { self }

  /// The response itself, as `copy()`; `zone` has no meaning.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? URLResponse else { return false }
    return self === other || (type(of: self) == type(of: other) && isEqual(to: other))
  }

  func isEqual(to other: URLResponse) -> Bool {
    url == other.url && declared == other.declared
  }

  open override var hash: Int { url.hashValue }

  open override var description: String {
    let length = expectedContentLength
    return "<\(type(of: self)): \(url?.withoutPassword.absoluteString ?? "nil"), \(mimeType ?? "unknown type"), "
      + (length < 0 ? "unknown length>" : "\(length) bytes>")
  }

  // MARK: Archiving

  /// Always true: an archive names the classes it may be read as.
  open class var supportsSecureCoding: Bool { true }

  /// Reads an archived response; nil where the archive has none, or is not keyed.
  public required init?(coder: NSCoder) {
    guard coder.allowsKeyedCoding, coder.containsValue(forKey: "expectedContentLength") else { return nil }
    declared = Declared(
      url: coder.decodeObject(of: NSURL.self, forKey: "url") as URL?,
      mimeType: coder.decodeObject(of: NSString.self, forKey: "mimeType") as String?,
      length: coder.decodeInt64(forKey: "expectedContentLength"),
      textEncodingName: coder.decodeObject(of: NSString.self, forKey: "textEncodingName") as String?)
  }

  /// Archives the URL, the MIME type, the expected length and the name of the text encoding.
  open func encode(with coder: NSCoder) {
    coder.encode(declared.url as NSURL?, forKey: "url")
    coder.encode(declared.mimeType as NSString?, forKey: "mimeType")
    coder.encode(declared.length, forKey: "expectedContentLength")
    coder.encode(declared.textEncodingName as NSString?, forKey: "textEncodingName")
  }
}
