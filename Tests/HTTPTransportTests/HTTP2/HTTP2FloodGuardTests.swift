import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct HTTP2FloodGuardTests {
  @Test(arguments: HTTP2FloodGuard.Kind.allCases)
  func floodsEndTheConnection(_ kind: HTTP2FloodGuard.Kind) {
    var guarding = HTTP2FloodGuard()
    let error = #expect(throws: HTTP2ConnectionError.self) {
      for _ in 0..<30_000 { try guarding.count(kind, at: .uptimeNanoseconds(0)) }
    }
    #expect(error?.code == .enhanceYourCalm)
  }

  @Test func anHonestServerIsNoFlood() throws {
    var guarding = HTTP2FloodGuard()
    // A PING a second and SETTINGS now and then, for a day.
    for second in 0..<86_400 { try guarding.count(.ping, at: .uptimeNanoseconds(UInt64(second) * 1_000_000_000)) }
  }
}
