import Foundation
import HTTPSemantics

/// The response to an HTTP request: a `URLResponse` with a status code and header fields.
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed, and nothing to assert: constants, all of Sendable types.

  /// The head as it was received or made up.
  package let head: HTTPResponseHead
  /// Whether a loader made the response.
  private let isReceived: Bool
  /// The length that the head announces, read once.
  private let announcedLength: Int64

  /// A response that was not received but made up.
  ///
  /// - Parameters:
  ///   - url: The URL that the response stands for.
  ///   - statusCode: The status code, 0 or more.
  ///   - HTTPVersion: The version as `HTTP/1.1` or `1.1`, the minor part may be left out. nil and whatever else means
  ///     1.1.
  ///   - headerFields: Names and values. Names that differ only in case are joined.
  /// - Returns: nil when the status code is negative, never otherwise.
  public init?(url: URL, statusCode: Int, httpVersion HTTPVersion: String?, headerFields: [String: String]?) {
    guard statusCode >= 0 else { return nil }
    var head = HTTPResponseHead(status: statusCode)
    if let version = HTTPVersion.flatMap({ HTTPURLResponse.version($0) }) { head.version = version }
    for (name, value) in (headerFields ?? [:]).sorted(by: { $0.key < $1.key }) { head.fields.append(name, value) }
    self.head = head
    isReceived = false
    announcedLength = HTTPURLResponse.length(head, isReceived: false)
    super.init(url: url, declaredMIMEType: nil)
  }

  /// A response with status 200 and no header fields.
  public override init(
    url URL: URL, mimeType MIMEType: String?, expectedContentLength length: Int, textEncodingName name: String?
  ) {
    head = HTTPResponseHead(status: 200)
    isReceived = false
    announcedLength = NSURLResponseUnknownLength
    super.init(url: URL, mimeType: MIMEType, expectedContentLength: length, textEncodingName: name)
  }

  /// A response with status 200, no header fields and no URL.
  public override init() {
    head = HTTPResponseHead(status: 200)
    isReceived = false
    announcedLength = NSURLResponseUnknownLength
    super.init()
  }

  /// The response of a loader. `mimeType`, when given, is used instead of the type that the head declares.
  package init(url: URL?, head: HTTPResponseHead, mimeType: String? = nil) {
    self.head = head
    isReceived = true
    announcedLength = HTTPURLResponse.length(head, isReceived: true)
    super.init(url: url, declaredMIMEType: mimeType)
  }

  /// The three digits of the status line, such as 200.
  open var statusCode: Int { head.status }

  /// Every header field. Names of well-known fields have their usual spelling whatever the server wrote
  /// (`content-length` becomes `Content-Length`), others the one in which they came first; values of a field that came
  /// several times, in whatever spelling, are joined with ", " (RFC 9110 §5.1, §5.3).
  /// A dictionary is case-sensitive: prefer `value(forHTTPHeaderField:)`.
  open var allHeaderFields: [AnyHashable: Any] {
    var joined: [String: String] = [:]
    var spellings: [String: String] = [:]
    for field in head.fields.fields {
      let name = CanonicalFieldName.spelling(of: field.name)
      let spelling = spellings[name.lowercased(), default: name]
      spellings[name.lowercased()] = spelling
      if joined[spelling] == nil {
        joined[spelling] = field.value
      } else {
        joined[spelling]?.append(", ")
        joined[spelling]?.append(field.value)
      }
    }
    return joined
  }

  /// The value of a header field, whose name is compared without regard to case; nil when it is absent.
  open func value(forHTTPHeaderField field: String) -> String? { head.fields[field] }

  /// A short lower-case text for a status code, such as "not found". Not localised.
  open class func localizedString(forStatusCode statusCode: Int) -> String { StatusText.text(for: statusCode) }

  // MARK: Derived from the head

  open override var mimeType: String? { super.mimeType ?? contentType?.essence }

  open override var textEncodingName: String? { super.textEncodingName ?? contentType?.charset?.lowercased() }

  /// The length in bytes that Content-Length announces. `NSURLResponseUnknownLength` (-1) without one, and when the
  /// body has a content coding that is undone here, since the app gets it decoded. A response that was made up has
  /// no body to decode: the length is what it says.
  open override var expectedContentLength: Int64 {
    let declared = super.expectedContentLength
    return declared >= 0 ? declared : announcedLength
  }

  /// - Parameter isReceived: whether a loader made the response, and undoes the codings that it knows.
  private static func length(_ head: HTTPResponseHead, isReceived: Bool) -> Int64 {
    guard let length = head.fields.contentLength else { return NSURLResponseUnknownLength }
    // The common case, told without reading the list of codings.
    guard isReceived, head.fields.contains("Content-Encoding") else { return length }
    let codings = ContentCodings(fields: head.fields)
    return codings.isIdentity || !codings.areAllKnown ? length : NSURLResponseUnknownLength
  }

  override var contentDisposition: String? { head.fields["Content-Disposition"] }

  private var contentType: MediaType? { head.fields.values("Content-Type").last.flatMap { MediaType(parsing: $0) } }

  /// `HTTP/1.1`, `HTTP/2` or `HTTP/2.0`, also without the name of the protocol.
  private static func version(_ text: String) -> HTTPVersion? {
    guard text.utf8.count <= 16 else { return nil }
    let isNamed = text.uppercased().hasPrefix("HTTP/")
    let numbers = text.dropFirst(isNamed ? 5 : 0).split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(numbers.count), let first = numbers.first, let major = UInt8(first) else { return nil }
    guard numbers.count == 2 else { return HTTPVersion(major: Int(major), minor: 0) }
    return UInt8(numbers[1]).map { HTTPVersion(major: Int(major), minor: Int($0)) }
  }

  // MARK: Comparing and archiving

  override func isEqual(to other: URLResponse) -> Bool {
    guard let other = other as? HTTPURLResponse, super.isEqual(to: other) else { return false }
    return head.status == other.head.status && allHeaderFields as NSDictionary == other.allHeaderFields as NSDictionary
  }

  open override var description: String {
    "<\(type(of: self)): \(url?.withoutPassword.absoluteString ?? "nil"), status \(statusCode), \(head.fields.fields.count) fields>"
  }

  /// Reads an archived response; nil where the archive has none, or is not keyed.
  public required init?(coder: NSCoder) {
    guard coder.allowsKeyedCoding, coder.containsValue(forKey: "statusCode") else { return nil }
    head = HTTPResponseHead(
      version: HTTPVersion(
        major: coder.decodeInteger(forKey: "versionMajor"), minor: coder.decodeInteger(forKey: "versionMinor")),
      status: coder.decodeInteger(forKey: "statusCode"),
      reason: coder.decodeObject(of: NSString.self, forKey: "reason") as String? ?? "",
      fields: HTTPFields(archivedIn: coder, forKey: "headerFields"))
    isReceived = coder.decodeBool(forKey: "isReceived")
    announcedLength = HTTPURLResponse.length(head, isReceived: isReceived)
    super.init(coder: coder)
  }

  /// Archives the response with its status and all fields of its head.
  open override func encode(with coder: NSCoder) {
    super.encode(with: coder)
    coder.encode(head.version.major, forKey: "versionMajor")
    coder.encode(head.version.minor, forKey: "versionMinor")
    coder.encode(head.status, forKey: "statusCode")
    coder.encode(isReceived, forKey: "isReceived")
    coder.encode(head.reason as NSString, forKey: "reason")
    head.fields.archive(in: coder, forKey: "headerFields")
  }
}
