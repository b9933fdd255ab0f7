import Foundation
import Testing
import URLLoadingSystem

@Suite struct NSURLRequestTests {
  let url = URL(string: "https://example.com/")!

  @Test func bridgesBothWays() throws {
    var value = URLRequest(url: url)
    value.setValue("v", forHTTPHeaderField: "Name")
    let reference = value as NSURLRequest
    #expect(reference.url == url)
    #expect(reference.value(forHTTPHeaderField: "name") == "v")
    #expect(reference as URLRequest == value)
    let any: Any = reference
    #expect(try #require(any as? NSURLRequest) as URLRequest == value)
  }

  @Test func aMutableRequestAndItsCopiesAreIndependent() throws {
    let mutable = NSMutableURLRequest(url: url)
    mutable.httpMethod = "post"
    mutable.addValue("1", forHTTPHeaderField: "A")
    let bridged = mutable as URLRequest
    let copy = try #require(mutable.copy() as? NSURLRequest)
    let mutableCopy = try #require(mutable.mutableCopy() as? NSMutableURLRequest)
    #expect(!(copy is NSMutableURLRequest))
    mutable.setValue("2", forHTTPHeaderField: "a")
    mutable.timeoutInterval = 1
    #expect(copy.value(forHTTPHeaderField: "A") == "1")
    #expect(mutableCopy.value(forHTTPHeaderField: "A") == "1")
    #expect(bridged.value(forHTTPHeaderField: "A") == "1")
    #expect(bridged.timeoutInterval == 60)
    #expect(bridged.httpMethod == "POST")
    #expect(copy.isEqual(mutableCopy))
    #expect(copy.hash == mutableCopy.hash)
    #expect(!copy.isEqual(mutable))
    #expect(copy.copy() as? NSURLRequest === copy)
  }

  @Test func mutableArchivesComeBackMutable() throws {
    let mutable = NSMutableURLRequest(url: url, cachePolicy: .reloadRevalidatingCacheData, timeoutInterval: 9)
    mutable.httpBodyStream = InputStream(data: Data([1]))
    let data = try NSKeyedArchiver.archivedData(withRootObject: mutable, requiringSecureCoding: true)
    let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSMutableURLRequest.self, from: data))
    #expect(restored.cachePolicy == .reloadRevalidatingCacheData)
    #expect(restored.timeoutInterval == 9)
    #expect(restored.httpBodyStream == nil)
  }

  @Test func aBareRequestHasNoURL() { #expect(NSMutableURLRequest().url == nil) }

  @Test(
    arguments: [
      (NSURLRequest.CachePolicy.useProtocolCachePolicy, 0), (.reloadIgnoringLocalCacheData, 1),
      (.reloadIgnoringCacheData, 1), (.returnCacheDataElseLoad, 2), (.returnCacheDataDontLoad, 3),
      (.reloadIgnoringLocalAndRemoteCacheData, 4), (.reloadRevalidatingCacheData, 5),
    ] as [(NSURLRequest.CachePolicy, UInt)])
  func cachePoliciesHaveApplesNumbers(policy: NSURLRequest.CachePolicy, number: UInt) {
    #expect(policy.rawValue == number)
  }

  @Test(
    arguments: [
      (.default, 0), (.voip, 1), (.video, 2), (.background, 3), (.voice, 4), (.responsiveData, 6), (.avStreaming, 8),
      (.responsiveAV, 9), (.callSignaling, 11),
    ] as [(URLRequest.NetworkServiceType, UInt)])
  func serviceTypesHaveApplesNumbers(type: URLRequest.NetworkServiceType, number: UInt) {
    #expect(type.rawValue == number)
  }
}
