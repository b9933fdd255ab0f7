import Testing

@testable import URLLoadingSystem

@Suite struct LoadConfigurationTests {
  @Test(arguments: [
    ("http://example.org/a?b=c", true),
    ("http://user:password@example.org/", false),
    ("http://user@example.org/", false),
    ("http://example.org/" + String(repeating: "a", count: 2_048), false),
  ])
  func onlyAShortURLWithoutUserStaysInMemory(text: String, isKept: Bool) {
    #expect(LoadSettings.mayBeKept(text) == isKept)
  }

  @Test func thePartsOfAURLAreThoseOfItsOwnText() throws {
    let settings = LoadSettings(LoadConfiguration())
    for text in ["http://a.example/1", "http://a.example/1", "http://u:p@b.example/2", "http://a.example/3"] {
      let (known, fresh) = (try #require(settings.place(of: text).target), try #require(HTTPTarget(text: text)))
      #expect(known.key == fresh.key && known.requestTarget == fresh.requestTarget)
    }
    #expect(settings.place(of: "data:,a").target == nil)
    #expect(settings.place(of: "http://a.example/1").key == nil)
    var caching = LoadConfiguration()
    caching.cache = .own(URLCache(memoryCapacity: 1_000, diskCapacity: 0))
    let keys = LoadSettings(caching)
    for text in ["http://a.example/1", "http://a.example/1#part", "http://u:p@b.example:80/2"] {
      for _ in 0..<2 { #expect(keys.place(of: text).key == CacheKey(text)) }
    }
  }
}
