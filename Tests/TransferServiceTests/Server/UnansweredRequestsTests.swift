import Testing
import TransferProtocol

@testable import TransferService

@Suite struct UnansweredRequestsTests {
  @Test func allowsALimitedNumber() {
    var requests = UnansweredRequests()
    for number: UInt64 in 1...32 {
      #expect(requests.allowMore)
      requests.add(number, length: 10)
    }
    #expect(!requests.allowMore)
    requests.remove(99)
    #expect(!requests.allowMore && requests.count == 32)
    requests.remove(7)
    #expect(requests.allowMore && requests.count == 31 && requests.byteCount == 310)
  }

  @Test func allowsALimitedNumberOfBytes() {
    var requests = UnansweredRequests()
    requests.add(1, length: MessageFraming.maximumLength - 1)
    #expect(requests.allowMore)
    requests.add(2, length: 1)
    #expect(!requests.allowMore)
    requests.remove(2)
    #expect(requests.allowMore)
  }

  @Test func aNumberThatIsUsedTwiceCountsTwice() {
    var requests = UnansweredRequests()
    requests.add(1, length: 5)
    requests.add(1, length: 6)
    requests.remove(1)
    #expect(requests.count == 1 && requests.byteCount == 6)
    requests.remove(1)
    requests.remove(1)
    #expect(requests.count == 0 && requests.byteCount == 0)
  }
}
