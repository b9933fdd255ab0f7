import RealServers
import Testing

@testable import SystemServices

/// Against systemd-resolved as programs see it.
@Suite(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
struct ResolvedCacheTests {
  private func cache(_ change: (inout MockResolved.Cache) -> Void = { _ in }) -> MockResolved.Cache {
    var cache = MockResolved.Cache()
    cache.records = [.init("a.test", type: 1, [1, 2, 3]), .init("a.test", type: 1, [4])]
    change(&cache)
    return cache
  }

  private func answer(
    _ name: String, _ resolver: MessageBusMock
  ) -> Result<ResolvedCache.Answer, ResolvedCache.Failure> {
    guard let cache = ResolvedCache(address: resolver.address) else { return .failure(.unavailable) }
    return Result { () throws(ResolvedCache.Failure) in try cache.answer(name, type: 1) }
  }

  @Test func whatIsInTheCacheIsAnswered() async throws {
    let flags: ResolvedCache.Flags = [.dns, .fromCache, .confidential]
    // The name has other records on the network.
    let resolver = try await MockResolved.start(
      [], records: [.init("b.test", type: 1, [5])], cache: cache { $0.flags = flags.rawValue })
    #expect(answer("a.test", resolver) == .success(.init(records: [[1, 2, 3], [4]], flags: flags)))
    #expect(answer("b.test", resolver) == .failure(.absent))
    await resolver.stop()
    #expect(answer("a.test", resolver) == .failure(.unavailable))
  }

  @Test(
    arguments: [
      (.refuses, .refused), (.comesTooLate, .unavailable), (.answersWrongly, .unavailable), (.ends, .unavailable),
    ] as [(MockResolved.CacheAnswers, ResolvedCache.Failure)])
  func failuresAreTold(_ answers: MockResolved.CacheAnswers, _ failure: ResolvedCache.Failure) async throws {
    let resolver = try await MockResolved.start([], cache: cache { $0.answers = answers })
    #expect(answer("a.test", resolver) == .failure(failure))
    await resolver.stop()
  }

  @Test(
    arguments: [
      ("no", [:], .never), ("yes", [:], .always), ("yes", [2: "yes"], .always),
      ("no", [2: "no", 3: "yes"], .sometimes),
      ("opportunistic", [2: "opportunistic"], .sometimes),
    ] as [(String, [Int: String], EncryptedDNS)])
  func modesOfTheManagerAndItsLinksCount(
    _ mode: String, _ links: [Int: String], _ encryption: EncryptedDNS
  ) async throws {
    let resolver = try await MockResolved.start(
      [],
      cache: cache {
        $0.mode = mode
        $0.linkModes = links
      })
    let cache = try #require(ResolvedCache(address: resolver.address))
    #expect(try cache.encryption() == encryption)
    await resolver.stop()
    #expect(throws: ResolvedCache.Failure.unavailable) { try cache.encryption() }
  }
}

@Suite struct ResolvedFailureTests {
  @Test(
    arguments: [
      (nil, .unavailable), ("org.freedesktop.DBus.Error.InvalidArgs", .refused),
      ("org.freedesktop.DBus.Error.AccessDenied", .refused),
      ("org.freedesktop.DBus.Error.ServiceUnknown", .unavailable),
      ("org.freedesktop.DBus.Error.NoReply", .unavailable), ("org.freedesktop.resolve1.NoSuchRR", .absent),
      ("org.freedesktop.resolve1.DnsError.NXDOMAIN", .absent), ("org.freedesktop.resolve1.NoSource", .absent),
      ("", .unavailable),
    ] as [(String?, ResolvedCache.Failure)])
  func namesOfErrorsAreKnown(_ name: String?, _ failure: ResolvedCache.Failure) {
    #expect(ResolvedCache.failure(named: name) == failure)
  }
}
