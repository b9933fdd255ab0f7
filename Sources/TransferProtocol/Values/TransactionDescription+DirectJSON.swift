import Foundation

extension TransactionDescription: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("bytes", bytes)
      try $0.field("connection", connection)
      try $0.field("headers", headers)
      try $0.field("method", method)
      try $0.field("response", response)
      try $0.field("source", source)
      try $0.field("times", times)
      try $0.field("url", url)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var (url, method): (String?, String?)
    var headers: [HeaderField]?
    var response: ResponseSummary?
    var source: Source?
    var times: Times?
    var connection: Connection?
    var bytes: ByteCounts?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "bytes": bytes = try scanner.value()
      case "connection": connection = try scanner.value()
      case "headers": headers = try scanner.value()
      case "method": method = try scanner.value()
      case "response": response = try scanner.optional()
      case "source": source = try scanner.value()
      case "times": times = try scanner.value()
      case "url": url = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let url, let method, let headers, let source, let times, let connection, let bytes else {
      throw JSONScanner.Unfit()
    }
    self.init(url: url, method: method, headers: headers, source: source)
    (self.response, self.times, self.connection, self.bytes) = (response, times, connection, bytes)
  }
}

extension TransactionDescription.Source: DirectJSON {
  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    self = Self(rawValue: try scanner.string()) ?? .unknown
  }
}

extension TransactionDescription.Times: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("connectEnd", connectEnd)
      try $0.field("connectStart", connectStart)
      try $0.field("domainLookupEnd", domainLookupEnd)
      try $0.field("domainLookupStart", domainLookupStart)
      try $0.field("fetchStart", fetchStart)
      try $0.field("requestEnd", requestEnd)
      try $0.field("requestStart", requestStart)
      try $0.field("responseEnd", responseEnd)
      try $0.field("responseStart", responseStart)
      try $0.field("secureConnectionEnd", secureConnectionEnd)
      try $0.field("secureConnectionStart", secureConnectionStart)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    self.init()
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "connectEnd": connectEnd = try scanner.optional()
      case "connectStart": connectStart = try scanner.optional()
      case "domainLookupEnd": domainLookupEnd = try scanner.optional()
      case "domainLookupStart": domainLookupStart = try scanner.optional()
      case "fetchStart": fetchStart = try scanner.optional()
      case "requestEnd": requestEnd = try scanner.optional()
      case "requestStart": requestStart = try scanner.optional()
      case "responseEnd": responseEnd = try scanner.optional()
      case "responseStart": responseStart = try scanner.optional()
      case "secureConnectionEnd": secureConnectionEnd = try scanner.optional()
      case "secureConnectionStart": secureConnectionStart = try scanner.optional()
      default: try scanner.skip()
      }
    }
  }
}

extension TransactionDescription.Connection: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("domainResolution", domainResolution)
      try $0.field("isCellular", isCellular)
      try $0.field("isConstrained", isConstrained)
      try $0.field("isExpensive", isExpensive)
      try $0.field("isMultipath", isMultipath)
      try $0.field("isProxy", isProxy)
      try $0.field("isReused", isReused)
      try $0.field("localAddress", localAddress)
      try $0.field("localPort", localPort)
      try $0.field("protocolName", protocolName)
      try $0.field("remoteAddress", remoteAddress)
      try $0.field("remotePort", remotePort)
      try $0.field("tlsCipherSuite", tlsCipherSuite)
      try $0.field("tlsVersion", tlsVersion)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    self.init()
    var required = 0
    func flag(_ scanner: inout JSONScanner) throws(JSONScanner.Unfit) -> Bool {
      required += 1
      return try scanner.value()
    }
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "domainResolution": domainResolution = try scanner.optional()
      case "isCellular": isCellular = try flag(&scanner)
      case "isConstrained": isConstrained = try flag(&scanner)
      case "isExpensive": isExpensive = try flag(&scanner)
      case "isMultipath": isMultipath = try flag(&scanner)
      case "isProxy": isProxy = try flag(&scanner)
      case "isReused": isReused = try flag(&scanner)
      case "localAddress": localAddress = try scanner.optional()
      case "localPort": localPort = try scanner.optional()
      case "protocolName": protocolName = try scanner.optional()
      case "remoteAddress": remoteAddress = try scanner.optional()
      case "remotePort": remotePort = try scanner.optional()
      case "tlsCipherSuite": tlsCipherSuite = try scanner.optional()
      case "tlsVersion": tlsVersion = try scanner.optional()
      default: try scanner.skip()
      }
    }
    guard required == 6 else { throw JSONScanner.Unfit() }
  }
}

extension TransactionDescription.ByteCounts: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("requestBody", requestBody)
      try $0.field("requestBodyBeforeEncoding", requestBodyBeforeEncoding)
      try $0.field("requestHeader", requestHeader)
      try $0.field("responseBody", responseBody)
      try $0.field("responseBodyAfterDecoding", responseBodyAfterDecoding)
      try $0.field("responseHeader", responseHeader)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    self.init()
    var required = 0
    try scanner.openObject()
    while let name = try scanner.nextName() {
      required += 1
      switch name {
      case "requestBody": requestBody = try scanner.value()
      case "requestBodyBeforeEncoding": requestBodyBeforeEncoding = try scanner.value()
      case "requestHeader": requestHeader = try scanner.value()
      case "responseBody": responseBody = try scanner.value()
      case "responseBodyAfterDecoding": responseBodyAfterDecoding = try scanner.value()
      case "responseHeader": responseHeader = try scanner.value()
      default: throw JSONScanner.Unfit()
      }
    }
    guard required == 6 else { throw JSONScanner.Unfit() }
  }
}
