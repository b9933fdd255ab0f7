import Foundation

extension TransferDescription: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("bytesPerSecond", bytesPerSecond)
      try $0.field("countOfBytesClientExpectsToReceive", countOfBytesClientExpectsToReceive)
      try $0.field("countOfBytesClientExpectsToSend", countOfBytesClientExpectsToSend)
      try $0.field("earliestBeginDate", earliestBeginDate)
      try $0.codableField("expectation", expectation)
      try $0.codableField("hourlyLimits", hourlyLimits)
      try $0.field("isDataTask", isDataTask)
      try $0.field("isMadeInBackground", isMadeInBackground)
      try $0.field("kind", kind)
      try $0.field("priority", priority)
      try $0.field("request", request)
      try $0.codableField("resumePoint", resumePoint)
      try $0.codableField("retry", retry)
      try $0.field("startsImmediately", startsImmediately)
      try $0.field("taskDescription", taskDescription)
      try $0.field("taskIdentifier", taskIdentifier)
      try $0.field("token", token)
      try $0.codableField("upload", upload)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var token: String?
    var taskIdentifier: Int?
    var kind: TransferKind?
    var request: RequestDescription?
    var priority: Float?
    var (expectedToSend, expectedToReceive, bytesPerSecond): (Int64?, Int64?, Int64?)
    var (startsImmediately, isDataTask, isMadeInBackground): (Bool?, Bool?, Bool?)
    var taskDescription: String?
    var earliestBeginDate: Date?
    var resumePoint: ResumePoint?
    var upload: UploadDescription?
    var expectation: ContentExpectation?
    var retry: RetryDescription?
    var hourlyLimits: [BandwidthLimit]?
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "bytesPerSecond": bytesPerSecond = try scanner.optional()
      case "countOfBytesClientExpectsToReceive": expectedToReceive = try scanner.value()
      case "countOfBytesClientExpectsToSend": expectedToSend = try scanner.value()
      case "earliestBeginDate": earliestBeginDate = try scanner.optional()
      case "expectation": expectation = try scanner.codable()
      case "hourlyLimits": hourlyLimits = try scanner.codable()
      case "isDataTask": isDataTask = try scanner.optional()
      case "isMadeInBackground": isMadeInBackground = try scanner.optional()
      case "kind": kind = try scanner.value()
      case "priority": priority = try scanner.value()
      case "request": request = try scanner.value()
      case "resumePoint": resumePoint = try scanner.codable()
      case "retry": retry = try scanner.codable()
      case "startsImmediately": startsImmediately = try scanner.value()
      case "taskDescription": taskDescription = try scanner.optional()
      case "taskIdentifier": taskIdentifier = try scanner.value()
      case "token": token = try scanner.value()
      case "upload": upload = try scanner.codable()
      default: try scanner.skip()
      }
    }
    guard let token, let taskIdentifier, let kind, let request, let priority, let expectedToSend, let expectedToReceive,
      let startsImmediately
    else { throw JSONScanner.Unfit() }
    self.init(token: token, taskIdentifier: taskIdentifier, kind: kind, request: request)
    (self.priority, self.startsImmediately) = (priority, startsImmediately)
    countOfBytesClientExpectsToSend = expectedToSend
    countOfBytesClientExpectsToReceive = expectedToReceive
    (self.taskDescription, self.earliestBeginDate) = (taskDescription, earliestBeginDate)
    (self.resumePoint, self.upload, self.expectation, self.retry) = (resumePoint, upload, expectation, retry)
    (self.isDataTask, self.isMadeInBackground) = (isDataTask, isMadeInBackground)
    (self.bytesPerSecond, self.hourlyLimits) = (bytesPerSecond, hourlyLimits)
  }
}

extension RequestDescription: DirectJSON {
  package func write(to writer: inout JSONWriter) throws {
    try writer.object {
      try $0.field("allowsCellularAccess", allowsCellularAccess)
      try $0.field("allowsConstrainedNetworkAccess", allowsConstrainedNetworkAccess)
      try $0.field("allowsExpensiveNetworkAccess", allowsExpensiveNetworkAccess)
      try $0.field("allowsPersistentDNS", allowsPersistentDNS)
      try $0.field("allowsUltraConstrainedNetworkAccess", allowsUltraConstrainedNetworkAccess)
      try $0.field("assumesHTTP3Capable", assumesHTTP3Capable)
      try $0.field("attribution", attribution)
      try $0.codableField("body", body)
      try $0.field("cachePolicy", cachePolicy)
      try $0.field("cookiePartitionIdentifier", cookiePartitionIdentifier)
      try $0.field("headers", headers)
      try $0.field("httpShouldHandleCookies", httpShouldHandleCookies)
      try $0.field("httpShouldUsePipelining", httpShouldUsePipelining)
      try $0.field("mainDocumentURL", mainDocumentURL)
      try $0.field("method", method)
      try $0.field("networkServiceType", networkServiceType)
      try $0.codableField("protocolProperties", protocolProperties)
      try $0.field("requiresDNSSECValidation", requiresDNSSECValidation)
      try $0.field("timeoutInterval", timeoutInterval)
      try $0.field("url", url)
    }
  }

  package init(from scanner: inout JSONScanner) throws(JSONScanner.Unfit) {
    var (url, method): (String?, String?)
    var headers: [HeaderField]?
    var request = RequestDescription(url: "")
    try scanner.openObject()
    while let name = try scanner.nextName() {
      switch name {
      case "allowsCellularAccess": request.allowsCellularAccess = try scanner.optional()
      case "allowsConstrainedNetworkAccess": request.allowsConstrainedNetworkAccess = try scanner.optional()
      case "allowsExpensiveNetworkAccess": request.allowsExpensiveNetworkAccess = try scanner.optional()
      case "allowsPersistentDNS": request.allowsPersistentDNS = try scanner.optional()
      case "allowsUltraConstrainedNetworkAccess": request.allowsUltraConstrainedNetworkAccess = try scanner.optional()
      case "assumesHTTP3Capable": request.assumesHTTP3Capable = try scanner.optional()
      case "attribution": request.attribution = try scanner.optional()
      case "body": request.body = try scanner.codable()
      case "cachePolicy": request.cachePolicy = try scanner.optional()
      case "cookiePartitionIdentifier": request.cookiePartitionIdentifier = try scanner.optional()
      case "headers": headers = try scanner.value()
      case "httpShouldHandleCookies": request.httpShouldHandleCookies = try scanner.optional()
      case "httpShouldUsePipelining": request.httpShouldUsePipelining = try scanner.optional()
      case "mainDocumentURL": request.mainDocumentURL = try scanner.optional()
      case "method": method = try scanner.value()
      case "networkServiceType": request.networkServiceType = try scanner.optional()
      case "protocolProperties": request.protocolProperties = try scanner.codable()
      case "requiresDNSSECValidation": request.requiresDNSSECValidation = try scanner.optional()
      case "timeoutInterval": request.timeoutInterval = try scanner.optional()
      case "url": url = try scanner.value()
      default: try scanner.skip()
      }
    }
    guard let url, let method, let headers else { throw JSONScanner.Unfit() }
    (request.url, request.method, request.headers) = (url, method, headers)
    self = request
  }
}
