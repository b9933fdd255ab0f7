/// A Secret Service that knows no encrypted session.
package enum PlainSecretService {
  /// Its address is for `DBUS_SESSION_BUS_ADDRESS`.
  package static func start() async throws -> MessageBusMock {
    try await MessageBusMock.start("secrets", settings: [String](), script: script)
  }

  private static let script = """
    service = "org.freedesktop.secrets"
    interface = "org.freedesktop.Secret.Service"
    mock = run("--system", service, "/org/freedesktop/secrets", interface)
    # The bus would start the machine's own service.
    while not connection.name_has_owner(service):
        time.sleep(0.01)
    secrets = object(service, "/org/freedesktop/secrets")
    code = '''
    if args[0] != "plain":
        raise dbus.exceptions.DBusException("plain only", name="org.freedesktop.DBus.Error.NotSupported")
    ret = (dbus.String("", variant_level=1), dbus.ObjectPath("/session"))
    '''
    secrets.AddMethod(interface, "OpenSession", "sv", "vo", code, dbus_interface=mocking)

    """
}
