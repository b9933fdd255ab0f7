/// The notification service of a desktop, on a session bus of its own. Its log has a line for each message.
package enum MockNotifications {
  private struct Settings: Encodable {}

  package static func start() async throws -> MessageBusMock {
    try await MessageBusMock.start("notifications", settings: Settings(), script: script)
  }

  private static let script = """
    os.environ["DBUS_SESSION_BUS_ADDRESS"] = address
    mock = run("--template", "notification_daemon")
    object("org.freedesktop.Notifications", "/org/freedesktop/Notifications")

    """
}
