/// systemd-resolved as programs see it.
package enum MockResolved {
  /// A name that it knows, and whether it has proof of it.
  package struct Name: Encodable, Sendable {
    let name: String
    /// `AF_INET`, 2, or `AF_INET6`, 10.
    let family: Int32
    let bytes: [UInt8]
    let isProven: Bool

    package init(_ name: String, _ bytes: [UInt8], isProven: Bool) {
      self.name = name
      self.bytes = bytes
      self.isProven = isProven
      family = bytes.count == 4 ? 2 : 10
    }
  }

  /// A name that is listed several times has several addresses.
  package static func start(_ names: [Name]) async throws -> MessageBusMock {
    try await MessageBusMock.start("resolved", settings: names, script: script)
  }

  private static let script = """
    service = "org.freedesktop.resolve1"
    mock = run("--system", service, "/org/freedesktop/resolve1", service + ".Manager")
    manager = object(service, "/org/freedesktop/resolve1")
    answers = {}
    for entry in settings:
        found = answers.setdefault(entry["name"], [])
        found.append((entry["family"], entry["bytes"], entry["isProven"]))
    code = f'''
    if args[1] not in {answers!r}:
        raise dbus.exceptions.DBusException("no such name", name="org.freedesktop.resolve1.DnsError.NXDOMAIN")
    addresses, flags = dbus.Array([], signature="(iiay)"), 512
    for family, data, is_proven in {answers!r}[args[1]]:
        addresses.append((dbus.Int32(1), dbus.Int32(family), dbus.ByteArray(bytes(data))))
        if not is_proven:
            flags = 0
    ret = (addresses, args[1], dbus.UInt64(flags))
    '''
    manager.AddMethod(
        service + ".Manager", "ResolveHostname", "isit", "a(iiay)st", code, dbus_interface=mocking)

    """
}
