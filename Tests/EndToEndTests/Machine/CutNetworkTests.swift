import Foundation
import LoopbackServer
import Testing
import TransferScript

/// A real service behind a cable that is pulled out.
@Suite(.fewAtATime, .enabled(if: Namespaces.obstacleToCables == nil, "\(Namespaces.obstacleToCables ?? "")"))
struct CutNetworkTests {
  private static let version = FileResource.Version(size: 12 << 20)

  /// - Parameter firstRate: bytes a second that the first answer has: what a test does during it needs its time on a busy
  ///   machine.
  private func withCable(
    _ home: Home, firstRate: Int = 512 << 10, _ test: (NetworkCable, RunningApp) async throws -> Void
  ) async throws {
    let cable = try await NetworkCable(folder: home.path, size: Self.version.size, rate: 4 << 20, firstRate: firstRate)
    defer { cable.end() }
    // A connection that is cut tells neither end.
    try home.plan { $0.requestTimeout = 1 }
    let app = try await home.start(in: cable.place)
    try await test(cable, app)
    try await home.log().waitFor(.didComplete, label: "f")
    // The service goes on unseen: the app has the first answer.
    home.expectArrived("f", Self.version)
    try await home.expectNothingKept()
    try await app.quit()
  }

  /// How often the service has said that a transfer waits, and why.
  private func failures(_ home: Home) -> Int {
    home.serviceLog.components(separatedBy: "will be tried again").count - 1
  }

  private func expectGoneOn(_ cable: NetworkCable) {
    let answers = cable.answers
    #expect(answers.first?.offset == 0 && answers.count >= 2)
    for answer in answers.dropFirst() { #expect(answer.status == 206 && answer.offset >= 1 << 20, "\(answers)") }
  }

  @Test func aTransferGoesOnWhenTheLinkIsBack() async throws {
    try await Home.run { home in
      try await withCable(home) { cable, app in
        try await app.tell(.download(url: cable.url, label: "f"))
        try await eventually("bytes") { home.partialSize() >= 2 << 20 }
        try cable.change("link set cable down")
        // The cut is noticed, and then that no way leads to the server.
        try await eventually("a failure without a network") { failures(home) >= 2 }
        #expect(home.log().count(.didComplete) == 0)
        try cable.change("link set cable up")
        try await home.log().waitFor(.didComplete, label: "f")
        expectGoneOn(cable)
      }
    }
  }

  @Test func aTransferGoesOnFromAnotherAddress() async throws {
    try await Home.run { home in
      try await withCable(home) { cable, app in
        try await app.tell(.download(url: cable.url, label: "f"))
        try await eventually("bytes") { home.partialSize() >= 2 << 20 }
        try cable.change("address delete \(NetworkCable.address)/24 dev cable")
        try cable.change("address add \(NetworkCable.otherAddress)/24 dev cable")
        try await home.log().waitFor(.didComplete, label: "f")
        expectGoneOn(cable)
      }
    }
  }

  @Test func aTransferBeginsWhenThereIsANetwork() async throws {
    try await Home.run { home in
      try await withCable(home, firstRate: 4 << 20) { cable, app in
        try cable.change("link set cable down")
        try await app.tell(.download(url: cable.url, label: "f"))
        try await eventually("a failure") { failures(home) >= 1 }
        #expect(cable.answers.isEmpty && home.log().count(.didComplete) == 0)
        try cable.change("link set cable up")
        try await home.log().waitFor(.didComplete, label: "f")
        #expect(cable.answers.map(\.status) == [200])
      }
    }
  }
}
