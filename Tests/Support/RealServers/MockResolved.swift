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

  /// What it does with questions about its cache alone.
  package enum CacheAnswers: String, Encodable, CaseIterable, Sendable {
    case answers
    /// As one that does not know the flag.
    case refuses
    case comesTooLate
    /// Another type than it should be.
    case answersWrongly
    /// Bytes that are no record.
    case answersWithNoise
    case ends
  }

  /// What it has in its cache, and how it asks name servers.
  package struct Cache: Encodable, Sendable {
    package var answers = CacheAnswers.answers
    package var records: [Record] = []
    /// `SD_RESOLVED_…` of all answers.
    package var flags: UInt64 = 1 | 1 << 20
    /// The property `DNSOverTLS` of the manager.
    package var mode = "no"
    /// That of links which have name servers, by their numbers.
    package var linkModes: [Int: String] = [:]

    package init() {}
  }

  private struct Settings: Encodable {
    let names: [Name]
    let records: [Record]
    let cache: Cache
  }

  /// A name that is listed several times has several addresses, or several records.
  package static func start(
    _ names: [Name], records: [Record] = [], cache: Cache = Cache()
  ) async throws -> MessageBusMock {
    try await MessageBusMock.start(
      "resolved", settings: Settings(names: names, records: records, cache: cache), script: script)
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
    cache = settings["cache"]
    cached = {}
    for entry in cache["records"]:
        cached.setdefault((entry["name"], entry["type"]), []).append(entry["bytes"])
    code = f'''
    import os, time
    # NO_NETWORK, and no flag that systemd 248 does not know in a question for records.
    isAboutCache = args[4] & (1 << 15) != 0
    doing = {cache["answers"]!r}
    if isAboutCache and (doing == "refuses" or args[4] & ~0xfc3f != 0):
        raise dbus.exceptions.DBusException(
            "Invalid flags parameter", name="org.freedesktop.DBus.Error.InvalidArgs")
    if isAboutCache and doing == "comesTooLate":
        time.sleep(3)
    if isAboutCache and doing == "ends":
        os._exit(0)
    known = {cached!r} if isAboutCache else {records!r}
    if args[2] != 1 or (args[1], args[3]) not in known:
        raise dbus.exceptions.DBusException("no such record", name="org.freedesktop.resolve1.NoSuchRR")
    found = dbus.Array([], signature="(iqqay)")
    for data in known[(args[1], args[3])]:
        if isAboutCache and doing == "answersWithNoise":
            data = [255] * 20
        found.append((dbus.Int32(1), dbus.UInt16(1), args[3], dbus.ByteArray(bytes(data))))
    ret = (found, dbus.UInt64({cache["flags"]} if isAboutCache else 0))
    '''
    signature = "a(iqqay)t"
    if cache["answers"] == "answersWrongly":
        signature, code = "as", 'ret = ["none"]'
    manager.AddMethod(
        service + ".Manager", "ResolveRecord", "isqqt", signature, code, dbus_interface=mocking)
    links = {int(number): mode for number, mode in cache["linkModes"].items()}
    servers = dbus.Array([], signature="(iiay)")
    for link in links:
        servers.append((dbus.Int32(link), dbus.Int32(2), dbus.ByteArray(bytes([192, 0, 2, 1]))))
        path = "/org/freedesktop/resolve1/link/_" + str(link)
        manager.AddObject(
            path, service + ".Link", {"DNSOverTLS": links[link]}, dbus.Array([], signature="(ssss)"),
            dbus_interface=mocking)
    manager.AddProperties(
        service + ".Manager", {"DNSOverTLS": cache["mode"], "DNS": servers}, dbus_interface=mocking)
    manager.AddMethod(
        service + ".Manager", "GetLink", "i", "o", 'ret = "/org/freedesktop/resolve1/link/_" + str(args[0])',
        dbus_interface=mocking)

    """
}
