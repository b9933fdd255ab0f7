import SystemFakes
import Testing

@testable import TransferService

@Suite struct HostAddressesTests {
  private let clock = FakeClock()

  @Test func theLatestHostsAreKept() {
    var addresses = HostAddresses()
    for number in 0...HostAddresses.limit { addresses.reached("h\(number)", at: "::\(number)", at: clock.now) }
    #expect(addresses["h0"] == nil && addresses["h1"] == "::1")
    #expect(addresses["h\(HostAddresses.limit)"] != nil)
  }

  @Test func aConnectionToAnotherAddressReplacesTheEarlierOne() {
    var addresses = HostAddresses()
    for address in ["::1", "::2"] { addresses.reached("h", at: address, at: clock.now) }
    #expect(addresses["h"] == "::2")
  }

  /// Each from its own last connection.
  @Test func addressesAreForgottenAfterAWhile() {
    var addresses = HostAddresses()
    for host in ["old", "renewed", "used"] { addresses.reached(host, at: "::1", at: clock.now) }
    clock.advance(by: 100)
    for host in ["new", "renewed"] { addresses.reached(host, at: "::1", at: clock.now) }
    clock.advance(by: HostAddresses.lifetime - 100)
    addresses.forgetOld(at: clock.now) { $0 == "used" }
    #expect(["old", "renewed", "used", "new"].map { addresses[$0] != nil } == [false, true, true, true])
    clock.advance(by: 100)
    addresses.forgetOld(at: clock.now) { _ in false }
    #expect(["renewed", "used", "new"].map { addresses[$0] != nil } == [false, true, false])
    // What was forgotten leaves its place to others.
    for number in 0..<HostAddresses.limit - 1 { addresses.reached("h\(number)", at: "::1", at: clock.now) }
    #expect(addresses["used"] != nil && addresses["h0"] != nil)
  }
}
