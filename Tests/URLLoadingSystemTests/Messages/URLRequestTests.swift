import Foundation
import HTTPSemantics
import Testing
import URLLoadingSystem

@Suite struct URLRequestTests {
  let url = URL(string: "https://example.com/a?b=c")!

  @Test func aNewRequestHasApplesDefaults() {
    let request = URLRequest(url: url)
    #expect(request.url == url)
    #expect(request.cachePolicy == .useProtocolCachePolicy)
    #expect(request.timeoutInterval == 60)
    #expect(request.mainDocumentURL == nil)
    #expect(request.networkServiceType == .default)
    #expect(request.allowsCellularAccess)
    #expect(request.allowsExpensiveNetworkAccess)
    #expect(request.allowsConstrainedNetworkAccess)
    #expect(!request.allowsUltraConstrainedNetworkAccess)
    #expect(!request.assumesHTTP3Capable)
    #expect(request.attribution == .developer)
    #expect(!request.requiresDNSSECValidation)
    #expect(!request.allowsPersistentDNS)
    #expect(request.cookiePartitionIdentifier == nil)
    #expect(request.httpMethod == "GET")
    #expect(request.allHTTPHeaderFields == nil)
    #expect(request.httpBody == nil)
    #expect(request.httpBodyStream == nil)
    #expect(request.httpShouldHandleCookies)
    #expect(!request.httpShouldUsePipelining)
  }

  /// One change of each property, so that none is forgotten by setters, copies, comparison or archives.
  static let changes: [(name: String, change: @Sendable (inout URLRequest) -> Void)] = [
    ("url", { $0.url = URL(string: "https://example.org") }),
    ("cachePolicy", { $0.cachePolicy = .returnCacheDataDontLoad }),
    ("timeoutInterval", { $0.timeoutInterval = 5 }),
    ("mainDocumentURL", { $0.mainDocumentURL = URL(string: "https://example.net") }),
    ("networkServiceType", { $0.networkServiceType = .callSignaling }),
    ("allowsCellularAccess", { $0.allowsCellularAccess = false }),
    ("allowsExpensiveNetworkAccess", { $0.allowsExpensiveNetworkAccess = false }),
    ("allowsConstrainedNetworkAccess", { $0.allowsConstrainedNetworkAccess = false }),
    ("allowsUltraConstrainedNetworkAccess", { $0.allowsUltraConstrainedNetworkAccess = true }),
    ("assumesHTTP3Capable", { $0.assumesHTTP3Capable = true }),
    ("attribution", { $0.attribution = .user }),
    ("requiresDNSSECValidation", { $0.requiresDNSSECValidation = true }),
    ("allowsPersistentDNS", { $0.allowsPersistentDNS = true }),
    ("cookiePartitionIdentifier", { $0.cookiePartitionIdentifier = "p" }),
    ("httpMethod", { $0.httpMethod = "PUT" }),
    ("allHTTPHeaderFields", { $0.allHTTPHeaderFields = ["A": "1"] }),
    ("httpBody", { $0.httpBody = Data([1, 2]) }),
    ("httpShouldHandleCookies", { $0.httpShouldHandleCookies = false }),
    ("httpShouldUsePipelining", { $0.httpShouldUsePipelining = true }),
  ]

  @Test(arguments: changes.map(\.name)) func aChangeOfEachPropertyStaysInItsCopyAndSurvivesAnArchive(name: String)
    throws
  {
    let change = try #require(URLRequestTests.changes.first { $0.name == name }).change
    let original = URLRequest(url: url)
    var copy = original
    change(&copy)
    #expect(copy != original)
    #expect(original == URLRequest(url: url))

    let archive = try NSKeyedArchiver.archivedData(withRootObject: copy as NSURLRequest, requiringSecureCoding: true)
    let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSURLRequest.self, from: archive))
    #expect(restored as URLRequest == copy)
    #expect((restored as URLRequest).isTimeoutIntervalSet == copy.isTimeoutIntervalSet)
    #expect((restored as URLRequest).isCachePolicySet == copy.isCachePolicySet)
  }

  @Test func headerFieldsCompareWithoutCaseAndKeepTheirSpelling() {
    var request = URLRequest(url: url)
    request.setValue("1", forHTTPHeaderField: "X-One")
    request.addValue("2", forHTTPHeaderField: "x-one")
    #expect(request.value(forHTTPHeaderField: "X-ONE") == "1,2")
    #expect(request.allHTTPHeaderFields == ["X-One": "1,2"])
    request.setValue("3", forHTTPHeaderField: "x-oNe")
    #expect(request.allHTTPHeaderFields == ["X-One": "3"])
    request.setValue(nil, forHTTPHeaderField: "X-ONE")
    #expect(request.allHTTPHeaderFields == nil)
    request.allHTTPHeaderFields = ["B": "2", "A": "1"]
    #expect(request.headerFields.fields.map(\.name) == ["A", "B"])
  }

  @Test func noHeaderFieldsAreNilUntilTheyAreSet() {
    var request = URLRequest(url: url)
    #expect(request.allHTTPHeaderFields == nil)
    request.allHTTPHeaderFields = [:]
    #expect(request.allHTTPHeaderFields == [:])
    #expect(request == URLRequest(url: url))
    request.allHTTPHeaderFields = nil
    #expect(request.allHTTPHeaderFields == nil)
  }

  @Test func equalityIgnoresTheOrderAndSpellingOfHeaderFields() {
    var left = URLRequest(url: url)
    left.setValue("1", forHTTPHeaderField: "A")
    left.setValue("2", forHTTPHeaderField: "B")
    var right = URLRequest(url: url)
    right.setValue("2", forHTTPHeaderField: "b")
    right.setValue("1", forHTTPHeaderField: "a")
    #expect(left == right)
    #expect(left.hashValue == right.hashValue)
    right.setValue("other", forHTTPHeaderField: "a")
    #expect(left != right)
  }

  @Test func bodyAndStreamExcludeEachOther() {
    var request = URLRequest(url: url)
    request.httpBody = Data([1])
    let stream = InputStream(data: Data([2]))
    request.httpBodyStream = stream
    #expect(request.httpBody == nil)
    let copy = request
    #expect(copy.httpBodyStream === stream)
    request.httpBody = Data([3])
    #expect(request.httpBodyStream == nil)
    request.httpBodyStream = nil
    #expect(request.httpBody == nil)
  }

  @Test(arguments: [
    ("get", "GET"), ("Post", "POST"), ("hEAD", "HEAD"), ("options", "options"), ("trace", "trace"),
    ("connect", "CONNECT"), ("PATCH", "PATCH"), ("patch", "patch"),
    ("Frob", "Frob"), (nil, "GET"),
  ])
  func standardMethodsAreUpperCase(set: String?, got: String) {
    var request = URLRequest(url: url)
    request.httpMethod = "DELETE"
    request.httpMethod = set
    #expect(request.httpMethod == got)
  }

  @Test(arguments: ["a\r\nEvil: yes", "a\nb", "a\rb", "a\u{0}b", "a\r\n", "a\r", "a\n", "\r\n a\r\nb"])
  func valuesThatNoMessageCarriesAreNotTaken(_ value: String) {
    var request = URLRequest(url: url)
    request.setValue("before", forHTTPHeaderField: "A")
    request.setValue(value, forHTTPHeaderField: "A")
    request.addValue(value, forHTTPHeaderField: "A")
    #expect(request.value(forHTTPHeaderField: "A") == "before")
    request.allHTTPHeaderFields = ["A": value, "B": "b"]
    #expect(request.value(forHTTPHeaderField: "A") == nil)
    #expect(request.value(forHTTPHeaderField: "B") == "b")
    request.setValue("folded\r\n\tline", forHTTPHeaderField: "A")
    #expect(request.value(forHTTPHeaderField: "A") == "folded\r\n\tline")
  }

  @Test func urlsAreMadeAbsolute() throws {
    let relative = try #require(URL(string: "d?e", relativeTo: url))
    #expect(URLRequest(url: relative).url?.baseURL == nil)
    #expect(NSURLRequest(url: relative).url?.relativeString == "https://example.com/d?e")
    var request = URLRequest(url: url)
    request.url = relative
    #expect(request.url?.relativeString == "d?e")
  }

  @Test func theHashSeesWhatEqualitySees() {
    let request = URLRequest(url: url)
    var other = request
    other.mainDocumentURL = url
    #expect(other.hashValue != request.hashValue)
    other = request
    other.httpBodyStream = InputStream(data: Data([1]))
    #expect(other.hashValue != request.hashValue)
  }

  @Test func onlyWhatTheAppChoseCountsAsSet() {
    #expect(!URLRequest(url: url).isTimeoutIntervalSet)
    #expect(!URLRequest(url: url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: 60).isTimeoutIntervalSet)
    #expect(URLRequest(url: url, timeoutInterval: 10).isTimeoutIntervalSet)
    #expect(URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad).isCachePolicySet)
    var request = URLRequest(url: url)
    #expect(!request.isCachePolicySet)
    request.timeoutInterval = 60
    request.cachePolicy = .useProtocolCachePolicy
    #expect(request.isTimeoutIntervalSet && request.isCachePolicySet)
    #expect(request == URLRequest(url: url))
  }

  @Test func protocolPropertiesTravelWithCopies() {
    var request = URLRequest(url: url)
    request.setProtocolProperty(7, forKey: "k")
    let copy = request
    request.setProtocolProperty(nil, forKey: "k")
    #expect(copy.protocolProperty(forKey: "k") as? Int == 7)
    #expect(request.protocolProperty(forKey: "k") == nil)
  }

  @Test func describesItselfByItsURL() {
    #expect(URLRequest(url: url).description == "https://example.com/a?b=c")
    #expect(URLRequest(url: url).debugDescription == "https://example.com/a?b=c")
    #expect(Mirror(reflecting: URLRequest(url: url)).children.contains { $0.label == "timeoutInterval" })
  }
}
