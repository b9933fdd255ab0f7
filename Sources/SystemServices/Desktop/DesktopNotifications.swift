import Foundation

/// Shows short messages on the user's desktop, by the notification service of its session
/// (org.freedesktop.Notifications).
package struct DesktopNotifications: Sendable {
  package enum Urgency: UInt8, Sendable { case low = 0, normal = 1, critical = 2 }

  private let address: String

  private static let service = SystemBus.Object(
    service: "org.freedesktop.Notifications", path: "/org/freedesktop/Notifications",
    interface: "org.freedesktop.Notifications")

  /// - Parameter address: Where the session's message bus listens.
  package init(address: String) { self.address = address }

  /// That of the user's session: `DBUS_SESSION_BUS_ADDRESS`, or the bus in the user's runtime folder. nil when there is
  /// none.
  package init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
    if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty {
      self.init(address: address)
    } else if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/"),
      FileManager.default.fileExists(atPath: "\(runtime)/bus")
    {
      self.init(address: "unix:path=\(runtime)/bus")
    } else {
      return nil
    }
  }

  /// Shows a message, and waits up to five seconds until it is shown. A desktop's service that starts on demand is
  /// started.
  ///
  /// - Parameters:
  ///   - program: The program's name as users know it.
  ///   - icon: A name of the icon themes.
  /// - Returns: Whether there is such a service, and it took the message.
  @discardableResult
  package func show(
    _ summary: String, body: String, program: String, icon: String, urgency: Urgency = .normal
  ) -> Bool {
    guard let bus = SystemBus(address: address, patience: 5_000_000) else { return false }
    let number = try? bus.ask(DesktopNotifications.service, "Notify", startsService: true) { message in
      try bus.append(message, program)
      // It replaces no other one.
      try bus.append(message, UInt32(0), "u")
      try bus.append(message, icon)
      try bus.append(message, DesktopNotifications.plain(summary))
      try bus.append(message, DesktopNotifications.escaped(DesktopNotifications.plain(body)))
      try bus.appendArray(message, of: "s")
      try bus.appendArray(message, of: "{sv}") { try bus.appendEntry(message, "urgency", byte: urgency.rawValue) }
      // It stays as long as the service decides.
      try bus.append(message, Int32(-1), "i")
    } reading: {
      try bus.read($0, "u", as: UInt32.self)
    }
    return number != nil
  }

  /// D-Bus takes no text with a zero byte, and a name may have any character.
  private static func plain(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 || $0 == "\n" }))
  }

  /// The body may have markup.
  private static func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;")
  }
}
