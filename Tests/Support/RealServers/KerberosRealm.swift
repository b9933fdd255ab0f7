import ChildProcess
import Foundation

/// An MIT Kerberos realm of its own: a key distribution center on a free port of 127.0.0.1, users with passwords, and
/// services with a keytab. Everything is in a temporary folder; programs find it through ``environment``.
///
/// Stop it with ``stop()``; if the test process dies first, the center dies with it.
package final class KerberosRealm: Sendable {
  package static let name = "TEST.EXAMPLE"

  /// Keys of all services, readable for servers that run as another user. For `KRB5_KTNAME` or `GssapiCredStore`.
  package let keytab: String
  private let folder: ServerFolder
  private let process: ServerProcess

  private static let programs = [
    InstalledServer(program: "krb5kdc", package: "krb5-kdc"),
    InstalledServer(program: "kdb5_util", package: "krb5-kdc"),
    InstalledServer(program: "kadmin.local", package: "krb5-admin-server"),
    InstalledServer(program: "kinit", package: "krb5-user"),
  ]

  /// Whether a test that needs it should run: it is installed, or its absence must be a failure.
  package static var runsHere: Bool { programs.allSatisfy(\.runsHere) }

  /// What a skipped test says.
  package static var advice: String {
    "MIT Kerberos is missing: apt-get install krb5-kdc krb5-admin-server krb5-user"
  }

  private init(folder: ServerFolder, process: ServerProcess) {
    self.folder = folder
    self.process = process
    keytab = folder.file("keytab")
  }

  deinit { folder.remove() }

  /// - Parameter users: names and passwords, which hold no quotation marks.
  /// - Parameter services: principals with keys in ``keytab``.
  package static func start(
    users: [String: String] = ["user": "pass word"], services: [String] = ["HTTP/localhost"]
  ) async throws -> KerberosRealm {
    var log = ""
    for _ in 0..<5 {
      let folder = try ServerFolder("kerberos")
      do {
        let port = try freePort()
        try write(folder, port)
        let variables = variables(folder)
        try await run(programs[1], ["create", "-s", "-P", UUID().uuidString, "-r", name], variables)
        var commands = users.map { "addprinc -pw \"\($0.value)\" \($0.key)\n" }
        commands += services.map { "addprinc -randkey \($0)\nktadd -k \(folder.file("keytab")) \($0)\n" }
        try await run(programs[2], [], variables, input: commands.joined())
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("keytab"))
        let process = try ServerProcess(
          program: programs[0].path(), arguments: ["-n"], environment: variables, log: folder.file("output.log"))
        let deadline = ContinuousClock.now + .seconds(90)
        // Another process's readiness can only be polled.
        while process.isRunning, !isListening(on: port), ContinuousClock.now < deadline {
          try await Task.sleep(for: .milliseconds(10))
        }
        if process.isRunning, isListening(on: port) { return KerberosRealm(folder: folder, process: process) }
        await process.stop()
        log = folder.text(of: "output.log") + folder.text(of: "kdc.log")
        folder.remove()
      } catch {
        folder.remove()
        throw error
      }
      guard log.contains("Address already in use") else { break }
    }
    throw RealServerError.didNotStart(program: "krb5kdc", log: log)
  }

  /// For programs that belong to the realm and have no ticket: `KRB5_CONFIG`, `KRB5CCNAME`, `KRB5_KTNAME`.
  package var environment: [String: String] {
    Self.variables(folder).merging(["KRB5_KTNAME": "FILE:" + keytab]) { $1 }
  }

  /// Gets a ticket with `kinit`; returns the environment of programs that are to have it.
  package func login(_ user: String = "user", password: String = "pass word") async throws -> [String: String] {
    var variables = environment
    variables["KRB5CCNAME"] = "FILE:" + folder.file("cache-" + UUID().uuidString)
    try await Self.run(Self.programs[3], [user], variables, input: password + "\n")
    return variables
  }

  /// Directives of Apache that let in the realm's users below `path`, by Negotiate with the service `HTTP/localhost`. Needs
  /// the Debian package `libapache2-mod-auth-gssapi`.
  ///
  /// - Parameter isConnectionBound: Whether a connection that was let in is asked no more.
  package func directives(for path: String, isConnectionBound: Bool = false) -> String {
    """
    <Location "\(path)">
      AuthType GSSAPI
      AuthName "Kerberos"
      GssapiCredStore keytab:\(keytab)
      GssapiAllowedMech krb5
      GssapiConnectionBound \(isConnectionBound ? "On" : "Off")
      Require valid-user
    </Location>
    """
  }

  /// Sends the center a signal by name: `STOP` lets it not answer.
  package func signal(_ name: String) { process.signal(name) }

  package func stop() async {
    await process.stop()
    folder.remove()
  }

  private static func variables(_ folder: ServerFolder) -> [String: String] {
    [
      "KRB5_CONFIG": folder.file("krb5.conf"), "KRB5_KDC_PROFILE": folder.file("kdc.conf"),
      "KRB5CCNAME": "FILE:" + folder.file("no-cache"),
      // Servers of several users share the machine's own.
      "KRB5RCACHENAME": "none:",
    ]
  }

  private static func run(
    _ program: InstalledServer, _ arguments: [String], _ variables: [String: String], input: String = ""
  ) async throws {
    let run = try await ProgramRun.run(program.path(), arguments, environment: variables, input: input)
    guard run.status == 0 else {
      throw RealServerError.didNotStart(program: program.program, log: run.output + run.errors)
    }
  }

  private static func write(_ folder: ServerFolder, _ port: Int) throws {
    // Over TCP: on a busy machine all tries over UDP can be over before the center answers.
    try folder.write(
      """
      [libdefaults]
        default_realm = \(name)
        dns_lookup_kdc = false
        dns_lookup_realm = false
        dns_canonicalize_hostname = false
        rdns = false
        udp_preference_limit = 1
      [realms]
        \(name) = {
          kdc = 127.0.0.1:\(port)
        }
      [logging]
        kdc = FILE:\(folder.file("kdc.log"))

      """, to: "krb5.conf")
    try folder.write(
      """
      [kdcdefaults]
        kdc_listen = 127.0.0.1:\(port)
        kdc_tcp_listen = 127.0.0.1:\(port)
      [realms]
        \(name) = {
          database_name = \(folder.file("principal"))
          key_stash_file = \(folder.file("stash"))
          acl_file = \(folder.file("acl"))
        }

      """, to: "kdc.conf")
  }
}
