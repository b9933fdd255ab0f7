import NIOCore
import SystemServices
import Testing

@testable import HTTPTransport

struct HTTP3OutagesTests {
  private let place = QUICEndpoint(host: "example.org", port: 443)
  private let start = BootInstant(nanoseconds: 1_000_000_000)

  @Test func aFailureIsRememberedForLongerEachTime() {
    var outages = HTTP3Outages()
    #expect(outages.permits(place, at: start))
    outages.failed(place, at: start)
    #expect(!outages.permits(place, at: start + .minutes(4)))
    #expect(outages.permits(place, at: start + .minutes(5)))
    outages.failed(place, at: start + .minutes(5))
    #expect(!outages.permits(place, at: start + .minutes(14)))
    #expect(outages.permits(place, at: start + .minutes(15)))
  }

  @Test func aSuccessIsANewBeginning() {
    var outages = HTTP3Outages()
    outages.failed(place, at: start)
    outages.failed(place, at: start)
    outages.worked(place)
    #expect(outages.permits(place, at: start))
    outages.failed(place, at: start)
    #expect(outages.permits(place, at: start + .minutes(5)))
  }

  @Test func otherPlacesAreNotConcerned() {
    var outages = HTTP3Outages()
    outages.failed(place, at: start)
    #expect(outages.permits(QUICEndpoint(host: "example.org", port: 8443), at: start))
    outages.removeAll()
    #expect(outages.permits(place, at: start))
  }

  @Test func thePauseHasALimit() {
    var outages = HTTP3Outages()
    for _ in 0..<40 { outages.failed(place, at: start) }
    #expect(outages.permits(place, at: start + .hours(24)))
  }
}
