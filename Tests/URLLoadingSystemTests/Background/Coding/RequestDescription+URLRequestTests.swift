import Foundation
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// A request on its way to the transfer service and back.
@Suite struct RequestDescriptionCodingTests {
  /// Every property that a message can hold, none at its default.
  private static func request() throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: "https://example.com/a?b=c#d")))
    request.cachePolicy = .reloadIgnoringLocalCacheData
    request.timeoutInterval = 12.5
    request.mainDocumentURL = URL(string: "https://example.com/document")
    request.networkServiceType = .video
    request.attribution = .user
    request.allowsCellularAccess = false
    request.allowsExpensiveNetworkAccess = false
    request.allowsConstrainedNetworkAccess = false
    request.allowsUltraConstrainedNetworkAccess = true
    request.assumesHTTP3Capable = true
    request.requiresDNSSECValidation = true
    request.allowsPersistentDNS = true
    request.cookiePartitionIdentifier = "partition"
    request.httpMethod = "POST"
    request.headerFields.append("X-A", "1")
    request.headerFields.append("x-a", "2")
    request.httpBody = Data([0, 255, 10])
    request.httpShouldHandleCookies = false
    request.httpShouldUsePipelining = true
    request.setProtocolProperty("word", forKey: "key")
    return request
  }

  /// Every stored property by name, as text, so that properties added later are covered too.
  private static func values(of request: URLRequest) -> [String: String] {
    Dictionary(
      Mirror(reflecting: request.box).children.map { ($0.label ?? "", "\($0.value)") }, uniquingKeysWith: { $1 })
  }

  private static func roundTrip(_ request: URLRequest) throws -> URLRequest {
    let encoded = try MessageFraming.encode(RequestDescription(request))
    return try #require(try MessageFraming.decode(RequestDescription.self, from: encoded).urlRequest)
  }

  @Test func everyPropertyArrives() throws {
    let request = try Self.request()
    let decoded = try Self.roundTrip(request)
    #expect(decoded == request && decoded.flags == request.flags)
    let (sent, received) = (Self.values(of: request), Self.values(of: decoded))
    let defaults = Self.values(of: URLRequest(url: try #require(URL(string: "http://default.example/"))))
    for (name, value) in sent where name != "httpBodyStream" {
      #expect(value != defaults[name], "the test leaves \(name) at its default")
      #expect(received[name] == value, "\(name)")
    }
  }

  /// What the app did not set stays unset, so that the session's setting applies.
  @Test func defaultsStayDefaults() throws {
    let request = URLRequest(url: try #require(URL(string: "http://example.com/")))
    let decoded = try Self.roundTrip(request)
    #expect(decoded == request && decoded.flags == request.flags)
  }

  @Test(arguments: [TimeInterval.infinity, .nan, 1e300, .greatestFiniteMagnitude])
  func everyIntervalFitsIntoAMessage(_ interval: TimeInterval) throws {
    var request = try Self.request()
    request.timeoutInterval = interval
    #expect(try Self.roundTrip(request).timeoutInterval == 1e9)
  }

  @Test func descriptionsOfOlderQueuesAreRead() throws {
    let old = """
      {"allowsCellularAccess":false,"allowsConstrainedNetworkAccess":true,"allowsExpensiveNetworkAccess":true,\
      "assumesHTTP3Capable":false,"attribution":0,"headers":[["A","1"]],"httpShouldHandleCookies":true,"method":"GET",\
      "networkServiceType":0,"timeoutInterval":5,"url":"http://example.com/"}
      """
    let request = try #require(try MessageFraming.decode(RequestDescription.self, from: Data(old.utf8)).urlRequest)
    #expect(request.url?.absoluteString == "http://example.com/" && request.value(forHTTPHeaderField: "A") == "1")
    #expect(!request.allowsCellularAccess && request.timeoutInterval == 5 && request.isTimeoutIntervalSet)
    #expect(!request.isCachePolicySet && !request.requiresDNSSECValidation)
  }

  static let uncarried: [(change: @Sendable (inout URLRequest) -> Void, code: URLError.Code, word: String)] = [
    ({ $0.url = nil }, .badURL, "URL"),
    ({ $0.httpBodyStream = InputStream(data: Data()) }, .requestBodyStreamExhausted, "stream"),
    ({ $0.httpBody = Data(count: RequestDescription.maximumBodyLength + 1) }, .dataLengthExceedsMaximum, "bytes"),
    ({ $0.setProtocolProperty(NSObject(), forKey: "object") }, .unknown, "URLProtocol"),
    ({ $0.setProtocolProperty(Date(), forKey: "date") }, .unknown, "URLProtocol"),
  ]

  @Test(arguments: uncarried.indices) func whatNoMessageHoldsIsNamed(_ index: Int) throws {
    let row = Self.uncarried[index]
    var request = try Self.request()
    #expect(request.uncarriedProperty() == nil)
    row.change(&request)
    let error = request.uncarriedProperty()
    #expect(error?.code == row.code && error?.localizedDescription.contains(row.word) == true)
  }
}
