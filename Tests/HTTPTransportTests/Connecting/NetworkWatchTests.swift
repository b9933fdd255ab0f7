import LoopbackServer
import SystemFakes
import SystemServices
import Testing

@testable import HTTPTransport

@Suite struct NetworkWatchTests {
  private let networks = FakeNetworks()
  private let changes = Recorder<Int>()

  private func begin(_ watch: NetworkWatch, _ number: Int = 1) { watch.begin { [changes] in changes.record(number) } }

  @Test func itIsOnOnce() {
    let watch = NetworkWatch(networks)
    #expect(!networks.isObserved)
    begin(watch)
    begin(watch, 2)
    networks.become(.expensive)
    #expect(changes.all == [1])
    watch.end()
    #expect(!networks.isObserved)
    begin(watch, 3)
    networks.become([])
    #expect(changes.all == [1, 3])
  }

  @Test func itIsOnWhileItIsNeeded() {
    let watch = NetworkWatch(networks)
    for isNeeded in [false, true, true, false, false, true] {
      watch.update(isNeeded: { isNeeded }) {}
      #expect(networks.isObserved == isNeeded)
    }
  }

  /// As objects do that have nothing left to forget.
  @Test func itMayEndAtAChange() {
    let watch = NetworkWatch(networks)
    watch.begin { [weak watch, changes] in
      watch?.end()
      changes.record(1)
    }
    for traits in [.expensive, []] as [NetworkTraits] { networks.become(traits) }
    #expect(changes.count == 1 && !networks.isObserved)
  }

  @Test func itEndsWithItsOwner() {
    var watch: NetworkWatch? = NetworkWatch(networks)
    watch.map { begin($0) }
    #expect(networks.isObserved)
    watch = nil
    #expect(!networks.isObserved)
  }
}
