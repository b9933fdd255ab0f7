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

  /// A record that it knows, whole as RFC 1035 §3.2.1 has it.
  package struct Record: Encodable, Sendable {
    let name: String
    let type: UInt16
    let bytes: [UInt8]

    package init(_ name: String, type: UInt16, _ bytes: [UInt8]) {
      self.name = name
      self.type = type
      self.bytes = bytes
    }
  }

  private struct Settings: Encodable {
    let names: [Name]
    let records: [Record]
  }

  /// A name that is listed several times has several addresses, or several records.
  package static func start(_ names: [Name], records: [Record] = []) async throws -> MessageBusMock {
    try await MessageBusMock.start("resolved", settings: Settings(names: names, records: records), script: script)
  }

  private static let script = """
    service = "org.freedesktop.resolve1"
    mock = run("--system", service, "/org/freedesktop/resolve1", service + ".Manager")
    manager = object(service, "/org/freedesktop/resolve1")
    answers = {}
    for entry in settings["names"]:
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
    records = {}
    for entry in settings["records"]:
        records.setdefault((entry["name"], entry["type"]), []).append(entry["bytes"])
    code = f'''
    if args[2] != 1 or (args[1], args[3]) not in {records!r}:
        raise dbus.exceptions.DBusException("no such record", name="org.freedesktop.resolve1.NoSuchRR")
    found = dbus.Array([], signature="(iqqay)")
    for data in {records!r}[(args[1], args[3])]:
        found.append((dbus.Int32(1), dbus.UInt16(1), args[3], dbus.ByteArray(bytes(data))))
    ret = (found, dbus.UInt64(0))
    '''
    manager.AddMethod(
        service + ".Manager", "ResolveRecord", "isqqt", "a(iqqay)t", code, dbus_interface=mocking)

    """
}
