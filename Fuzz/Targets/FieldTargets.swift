import HTTPSemantics

extension FuzzTarget {
  /// The dates of fields and cookies, and Retry-After.
  static let dates = FuzzTarget("dates") { bytes in
    let text = bytes.text
    for date in [HTTPDate.parse(text), HTTPDate.parse(text, now: 1_700_000_000), CookieDate.parse(text)] {
      guard let date else { continue }
      // An offset may carry a date beyond the years that can be written.
      guard (-62_167_219_200...253_402_300_799).contains(date) else { continue }
      let written = HTTPDate.format(date)
      try require(HTTPDate.parse(written) == date, "\(date) is written \(written), which reads differently")
    }
    if let wait = RetryAfter.seconds(text, now: 1_700_000_000) { try require(wait >= 0, "a wait of \(wait) s") }
  }

  /// Every other field whose value is taken apart, and types guessed from bytes.
  static let fields = FuzzTarget("fields") { bytes in
    let text = bytes.text
    if let type = MediaType(parsing: text) {
      try require(type.essence == type.essence.asciiLowercased(), "\(type.essence) is not in lower case")
      try require(type.parameters.all.count <= FieldParameters.limit, "too many parameters")
    }
    for name in [
      ContentDisposition(parsing: text).filename, SafeFilename.sanitize(text),
      SuggestedFilename.choose(contentDisposition: text, path: text, host: text, mediaType: text),
    ] {
      guard let name else { continue }
      try require(!name.isEmpty && name.utf8.count <= SafeFilename.longest, "a name of \(name.utf8.count) bytes")
      try require(!name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0), "the name \(name.debugDescription)")
      try require(name.utf8.first != UInt8(ascii: "."), "the hidden name \(name.debugDescription)")
    }
    if let range = ContentRange(parsing: text), let length = range.length { try require(length > 0, "\(range)") }
    let fields = HTTPFields(
      [
        "Content-Range", "Content-Encoding", "ETag", "Last-Modified", "Content-Length", "Upload-Limit", "Upload-Offset",
        "Upload-Complete", "Upload-Draft-Interop-Version", "Location", "Connection", "Accept-Ranges",
      ].map { HTTPFields.Field(name: $0, value: text) })
    for status in [200, 206, 412, 416] {
      _ = ResumePlan.outcome(
        status: status, fields: fields, offset: 5, validator: ResumeValidator(entityTag: "\"a\""), total: 9)
    }
    if let validator = ResumeValidator(fields: HTTPFields(["ETag": text, "Last-Modified": text]), receivedAt: 1 << 31),
      let condition = validator.condition
    {
      try require(FieldValidation.isFieldValue(condition), "If-Range: \(condition.debugDescription)")
    }
    _ = UploadAnswer(fields)
    _ = ContentCodings(fields: fields).decodingOrder
    _ = KeepAliveHint(parsing: text)
    _ = fields.hasToken("close", in: "Connection")
    _ = try? ResponseFraming.decide(method: "GET", head: HTTPResponseHead(status: 200, fields: fields))
    if case .success(let field) = FieldValidation.sanitized(name: text, value: text) {
      try require(FieldValidation.isFieldName(field.name) && FieldValidation.isFieldValue(field.value), "\(field)")
    }
    try checkTransportSecurity(text)
    _ = MIMESniffing.mediaType(of: bytes)
  }

  /// Strict-Transport-Security.
  private static func checkTransportSecurity(_ text: String) throws {
    var hosts = KnownHSTSHosts()
    guard hosts.note(["Strict-Transport-Security": text], from: "a.example", at: 1) else { return }
    try require(hosts.contains("A.example.", at: 1), "a host that was noted is not known")
    try require(!hosts.contains("example", at: 1), "a domain above the host is known")
  }

  /// References, redirects, `data:` URLs.
  static let urls = FuzzTarget("urls") { bytes in
    let text = bytes.text
    let reference = URIReference(text)
    try require(reference.text == text, "taken apart and put together: \(reference.text.debugDescription)")
    let base = URIReference("https://user@example.com:8443/a/b/c?q#f")
    let resolved = reference.resolved(against: base)
    try require(resolved.scheme != nil, "no scheme in \(resolved.text)")
    let legal = reference.percentEncodingIllegalCharacters
    try require(legal.percentEncodingIllegalCharacters == legal, "encoded twice over: \(legal.text)")
    try require(legal.path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "the path \(legal.path.debugDescription)")
    var hosts = KnownHSTSHosts()
    _ = hosts.note(["Strict-Transport-Security": "max-age=9; includeSubDomains"], from: "example", at: 1)
    if let secured = hosts.secured(reference, at: 1) {
      try require(secured.scheme == "https" || secured.scheme == "wss", "rewritten as \(secured.text)")
      try require(hosts.secured(secured, at: 1) == nil, "rewritten twice: \(secured.text)")
    }
    let decision = RedirectRules.decide(
      status: 302, method: "POST", hasBody: true, url: base.text, locations: [text], redirectCount: 1)
    if case .follow(let redirect) = decision {
      let origin = HTTPOrigin(URIReference(redirect.target))
      try require(origin != nil, "no origin in \(redirect.target)")
      try require((origin != HTTPOrigin(base)) == redirect.changesOrigin, "the origin of \(redirect.target)")
    }
  }
}
