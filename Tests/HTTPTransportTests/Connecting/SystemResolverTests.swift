import Dispatch
import LoopbackServer
import NIOCore
import SystemServices
import Testing

@testable import HTTPTransport

@Suite struct SystemResolverTests {
  private static let threads = BlockingLanes(limit: 16)

  /// The connection to an address that was kept comes about while the name servers are asked once more.
  @Test func aNameThatIsAskedAboutOnceMoreIsStillResolved() async throws {
    let release = DispatchSemaphore(value: 0)
    let names = NameLookups(on: Self.threads) { _ in
      release.wait()
      return .success([])
    }
    for family in AddressFamily.allCases {
      let address = NetworkAddress(family == .v4 ? [127, 0, 0, 1] : [UInt8](repeating: 0, count: 15) + [1])
      names.memory.note(
        .success([address]), to: NameQuestion(host: "a.example", family: family, onlyUsableFamilies: true),
        askedIn: names.memory.circumstances(), at: .now())
    }
    let resolver = try await answered(names)
    let (before, during, after) = try await LoopExecutor.all[0].loop.submit {
      resolver.connectingBegan()
      let before = resolver.ended
      resolver.startAfresh { _, _ in }
      let during = resolver.ended
      resolver.cancel()
      return (before, during, resolver.ended)
    }.get()
    #expect(before != nil && during == before && after == before)
    for _ in 0..<2 { release.signal() }
  }

  /// One that has the answers of both families.
  private func answered(_ names: NameLookups) async throws -> SystemResolver {
    let loop = LoopExecutor.all[0].loop
    let answers = Recorder<AddressFamily>()
    let resolver = try await loop.submit {
      let resolver = SystemResolver(loop: loop, names: names)
      resolver.start("a.example") { family, _ in answers.record(family) }
      return resolver
    }.get()
    _ = try await answers.first(2)
    return resolver
  }

  @Test(
    arguments: [
      ([.udp, .udp], .udp), ([.tls, .tls], .tls), ([.udp, .tls], .unknown), ([.unknown, .udp], .unknown),
      ([.tcp, nil], .tcp), ([nil, nil], .unknown),
    ] as [([DomainResolution?], DomainResolution)])
  func aNameIsResolvedInTheWayOfAllItsAddresses(
    _ families: [DomainResolution?], _ resolution: DomainResolution
  ) async throws {
    let names = NameLookups(on: Self.threads) { _ in .failure(NameFailure(reason: "no such name", isAbsence: true)) }
    for (family, resolution) in zip(AddressFamily.allCases, families) {
      guard let resolution else { continue }
      let address = NetworkAddress(family == .v4 ? [127, 0, 0, 1] : [UInt8](repeating: 0, count: 15) + [1])
      names.memory.note(
        .success([address]), to: NameQuestion(host: "a.example", family: family, onlyUsableFamilies: true),
        by: resolution, askedIn: names.memory.circumstances(), at: .now())
    }
    let resolver = try await answered(names)
    let found = try await LoopExecutor.all[0].loop.submit { resolver.resolution }.get()
    #expect(found == resolution)
  }

  /// One family was found among what is kept, and the other is still being looked up when both are asked about once more.
  @Test func noQuestionIsLeftBehindByOneThatIsAskedOnceMore() async throws {
    let release = DispatchSemaphore(value: 0)
    let names = NameLookups(on: Self.threads) { _ in
      release.wait()
      release.signal()
      return .success([])
    }
    names.memory.note(
      .success([NetworkAddress([127, 0, 0, 1])]),
      to: NameQuestion(host: "a.example", family: .v4, onlyUsableFamilies: true), askedIn: names.memory.circumstances(),
      at: .now())
    let loop = LoopExecutor.all[0].loop
    let answers = Recorder<AddressFamily>()
    let resolver = try await loop.submit {
      let resolver = SystemResolver(loop: loop, names: names)
      resolver.start("a.example") { family, _ in answers.record(family) }
      return resolver
    }.get()
    #expect(try await answers.next() == .v4)
    let waiters = try await loop.submit {
      resolver.startAfresh { _, _ in }
      defer { resolver.cancel() }
      return names.waiterCount
    }.get()
    #expect(waiters == 2 && names.waiterCount == 0)
    release.signal()
  }
}
