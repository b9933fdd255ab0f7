import Foundation

extension HeaderField: DirectJSON {
  package func write(to writer: inout JSONWriter) { writer.array([name, value]) { $1.write(to: &$0) } }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    let pair = try scanner.array(of: String.self)
    guard pair.count == 2 else { throw JSONScanner.Unfit() }
    self.init(pair[0], pair[1])
  }
}

extension ResponseSummary: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("expectedContentLength", expectedContentLength)
      try $0.field("headers", headers)
      try $0.field("mimeType", mimeType)
      try $0.field("sealedHeaders", sealedHeaders)
      try $0.field("status", status)
      try $0.field("url", url)
      try $0.field("version", version)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var (url, version, mimeType): (String?, String?, String?)
    var status: Int?
    var headers: [HeaderField]?
    var length: Int64?
    var sealedHeaders: Data?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "expectedContentLength": length = try scanner.value()
      case "headers": headers = try scanner.value()
      case "mimeType": mimeType = try scanner.optional()
      case "sealedHeaders": sealedHeaders = try scanner.optional()
      case "status": status = try scanner.value()
      case "url": url = try scanner.value()
      case "version": version = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let url, let version, let status, let headers, let length else { throw JSONScanner.Unfit() }
    self.init(url: url, status: status, version: version, headers: headers, expectedContentLength: length)
    (self.mimeType, self.sealedHeaders) = (mimeType, sealedHeaders)
  }
}
