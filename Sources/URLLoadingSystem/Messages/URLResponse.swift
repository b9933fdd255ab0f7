import Foundation
import HTTPSemantics

/// The length of a response whose length is not known in advance.
public let NSURLResponseUnknownLength: Int64 = -1

/// What came back for a request, without its body: where from, what kind, how long.
///
/// Immutable, so it may be used from any thread. What is derived from the protocol's answer (type, length, name) is
/// worked out when it is asked for.
open class URLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  private let storedURL: URL?
  private let declaredMIMEType: String?
  private let declaredLength: Int64
  private let declaredTextEncodingName: String?

  /// A response that was not received but made up.
  ///
  /// - Parameters:
  ///   - length: The body's length in bytes, -1 when it is not known.
  ///   - name: The IANA name of the text encoding, nil when there is none.
  public init(
    url URL: URL, mimeType MIMEType: String?, expectedContentLength length: Int, textEncodingName name: String?
  ) {
    storedURL = URL
    declaredMIMEType = MIMEType
    declaredLength = Int64(length)
    declaredTextEncodingName = name
  }

  /// A response without URL, type or known length.
  public override init() {
    storedURL = nil
    declaredMIMEType = nil
    declaredLength = NSURLResponseUnknownLength
    declaredTextEncodingName = nil
  }

  /// The response of a loader. A length that does not fit `Int` is kept.
  package init(url: URL?, declaredMIMEType: String?, length: Int64 = -1, textEncodingName: String? = nil) {
    storedURL = url
    self.declaredMIMEType = declaredMIMEType
    declaredLength = length
    declaredTextEncodingName = textEncodingName
  }

  /// Where the response came from: after redirects, the last URL.
  open var url: URL? { storedURL }

  /// The media type, such as `text/html`, without parameters. nil when it is not known.
  open var mimeType: String? { declaredMIMEType }

  /// The body's length in bytes, or `NSURLResponseUnknownLength` (-1). A promise that the body may break.
  open var expectedContentLength: Int64 { declaredLength }

  /// The IANA name of the body's text encoding, such as `utf-8`; nil when none was named.
  open var textEncodingName: String? { declaredTextEncodingName }

  /// A name under which to save the body: what the server suggests, else the last part of the URL's path, else the
  /// host, else "unknown". An extension that fits the type is added when there is none. Never contains a slash.
  open var suggestedFilename: String? {
    let url = self.url
    let path = url?.path(percentEncoded: true) ?? ""
    return SuggestedFilename.choose(
      contentDisposition: contentDisposition,
      path: url?.scheme?.asciiLowercased() == "ftp" ? FTPResource.withoutType(path) : path, host: url?.host,
      mediaType: mimeType)
  }

  /// The Content-Disposition field, for protocols that have one.
  var contentDisposition: String? { nil }

  // MARK: Copying and comparing

  /// The response itself, since it never changes.
  open override func copy() -> Any { self }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? URLResponse else { return false }
    return self === other || (type(of: self) == type(of: other) && isEqual(to: other))
  }

  func isEqual(to other: URLResponse) -> Bool {
    url == other.url && declaredMIMEType == other.declaredMIMEType && declaredLength == other.declaredLength
      && declaredTextEncodingName == other.declaredTextEncodingName
  }

  open override var hash: Int { url.hashValue }

  open override var description: String {
    let length = expectedContentLength
    return "<\(type(of: self)): \(url?.absoluteString ?? "nil"), \(mimeType ?? "unknown type"), "
      + (length < 0 ? "unknown length>" : "\(length) bytes>")
  }

  // MARK: Archiving

  open class var supportsSecureCoding: Bool { true }

  public required init?(coder: NSCoder) {
    guard coder.allowsKeyedCoding, coder.containsValue(forKey: "expectedContentLength") else { return nil }
    storedURL = coder.decodeObject(of: NSURL.self, forKey: "url") as URL?
    declaredMIMEType = coder.decodeObject(of: NSString.self, forKey: "mimeType") as String?
    declaredLength = coder.decodeInt64(forKey: "expectedContentLength")
    declaredTextEncodingName = coder.decodeObject(of: NSString.self, forKey: "textEncodingName") as String?
  }

  open func encode(with coder: NSCoder) {
    coder.encode(storedURL as NSURL?, forKey: "url")
    coder.encode(declaredMIMEType as NSString?, forKey: "mimeType")
    coder.encode(declaredLength, forKey: "expectedContentLength")
    coder.encode(declaredTextEncodingName as NSString?, forKey: "textEncodingName")
  }
}
