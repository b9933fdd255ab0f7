import RealServers
import Testing

@testable import SystemServices

/// Messages on the desktop.
@Suite struct DesktopNotificationsTests {
  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func theServiceOfTheSessionShowsThem() async throws {
    let desktop = try await MockNotifications.start()
    let notifications = DesktopNotifications(address: desktop.address)
    #expect(
      notifications.show(
        "A <b> name\u{0}", body: "1 < 2 & 3", program: "tests", icon: "dialog-warning", urgency: .critical))
    #expect(desktop.log.contains("Notify \"tests\" 0 \"dialog-warning\" \"A <b> name\" \"1 &lt; 2 &amp; 3\""))
    #expect(desktop.log.contains("urgency"))
    await desktop.stop()
    #expect(!notifications.show("late", body: "", program: "tests", icon: ""))
  }

  @Test func withoutASessionThereIsNoDesktop() {
    #expect(DesktopNotifications(environment: [:]) == nil)
    #expect(DesktopNotifications(environment: ["XDG_RUNTIME_DIR": "/nowhere"]) == nil)
    #expect(DesktopNotifications(environment: ["DBUS_SESSION_BUS_ADDRESS": ""]) == nil)
    let gone = DesktopNotifications(environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus"])
    #expect(gone?.show("", body: "", program: "tests", icon: "") == false)
  }
}
