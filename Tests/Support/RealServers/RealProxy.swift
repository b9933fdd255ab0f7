import ChildProcess
import Foundation

/// A proxy that people run: squid, tinyproxy, dante, microsocks or `ssh -D`, started for a test.
package enum RealProxy: String, Sendable, CaseIterable {
  case squid, tinyproxy, dante, microsocks, ssh

  /// A name under which squid finds this machine: the proxies of the environment are not asked for `localhost`.
  package static let nameOfThisMachine = "origin.example"

  package var installed: InstalledServer {
    switch self {
    case .squid: InstalledServer(program: "squid", package: "squid")
    case .tinyproxy: InstalledServer(program: "tinyproxy", package: "tinyproxy")
    case .dante: InstalledServer(program: "danted", package: "dante-server")
    case .microsocks: InstalledServer(program: "microsocks", package: "microsocks")
    // Debian's package of the server brings the client.
    case .ssh: InstalledServer(program: "sshd", package: "openssh-server")
    }
  }

  /// Starts the proxy on 127.0.0.1.
  ///
  /// - Parameters:
  ///   - tls: For squid: also take HTTPS, on the second port.
  ///   - credential: The one user that may use it; nil: anybody. Not for dante, which knows the machine's users only,
  ///     and ssh, which lets in everybody on the machine.
  ///   - usesDigest: For squid: the user proves the password by Digest, in the realm `Office`.
  ///   - realm: For squid: the users of the realm may use it, by Negotiate with the service `HTTP/localhost`.
  package func start(
    tls: TLSFiles? = nil, credential: (user: String, password: String)? = nil, usesDigest: Bool = false,
    realm: KerberosRealm? = nil
  ) async throws -> RealServer {
    let program = self == .ssh ? Self.sshClient : installed
    return try await RealServer.start(
      program, tls: self == .squid ? tls : nil, documentRoot: nil, environment: realm?.environment ?? [:]
    ) { site in
      switch self {
      case .squid: return try squid(site, credential, usesDigest: usesDigest, realm)
      case .tinyproxy: return try tinyproxy(site, credential)
      case .dante: return try dante(site)
      case .microsocks:
        let login = credential.map { ["-u", $0.user, "-P", $0.password] } ?? []
        return ["-i", "127.0.0.1", "-p", String(site.port)] + login
      case .ssh: return try ssh(site)
      }
    }
  }

  private func squid(
    _ site: RealServer.Site, _ credential: (user: String, password: String)?, usesDigest: Bool, _ realm: KerberosRealm?
  ) throws -> [String] {
    // Started by root, squid serves as a user of its own, who must be able to write its logs.
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: site.folder.path)
    var rules = "http_access allow all"
    if let credential, usesDigest {
      try site.folder.write("\(credential.user):\(credential.password)\n", to: "passwords")
      rules = """
        auth_param digest program /usr/lib/squid/digest_file_auth \(site.folder.file("passwords"))
        auth_param digest children 1 startup=1 idle=1
        auth_param digest realm Office
        acl known proxy_auth REQUIRED
        http_access allow known
        http_access deny all
        """
    } else if let credential {
      let helper = site.folder.file("check-password")
      try ProgramFile.write(
        "#!/bin/sh\nwhile read -r user password; do\n"
          + "if [ \"$user $password\" = \"\(credential.user) \(credential.password)\" ]; then echo OK; else echo ERR; fi\ndone\n",
        to: helper)
      rules = """
        auth_param basic program \(helper)
        auth_param basic children 1 startup=1 idle=1
        auth_param basic realm Office
        acl known proxy_auth REQUIRED
        http_access allow known
        http_access deny all
        """
    }
    if let realm {
      rules = """
        auth_param negotiate program /usr/lib/squid/negotiate_kerberos_auth -s HTTP/localhost -k \(realm.keytab)
        auth_param negotiate children 1 startup=1 idle=1
        acl known proxy_auth REQUIRED
        http_access allow known
        http_access deny all
        """
    }
    var secure = ""
    if let tls = site.tls, let port = site.securePort {
      secure = "https_port 127.0.0.1:\(port) tls-cert=\(tls.certificateFile) tls-key=\(tls.keyFile)"
    }
    try site.folder.write("127.0.0.1 localhost \(Self.nameOfThisMachine)\n", to: "hosts")
    try site.folder.write(
      """
      http_port 127.0.0.1:\(site.port)
      \(secure)
      hosts_file \(site.folder.file("hosts"))
      \(rules)
      cache deny all
      cache_mem 8 MB
      pid_filename \(site.folder.file("squid.pid"))
      cache_log \(site.folder.file("error.log"))
      access_log stdio:\(site.folder.file("access.log"))
      coredump_dir \(site.folder.path)
      shutdown_lifetime 0 seconds
      pinger_enable off
      netdb_filename none
      visible_hostname proxy.example
      forwarded_for delete

      """, to: "squid.conf")
    return ["-N", "-n", "proxy\(site.port)", "-f", site.folder.file("squid.conf")]
  }

  private func tinyproxy(_ site: RealServer.Site, _ credential: (user: String, password: String)?) throws -> [String] {
    try site.folder.write(
      """
      Port \(site.port)
      Listen 127.0.0.1
      Timeout 60
      LogFile "\(site.folder.file("access.log"))"
      LogLevel Connect
      MaxClients 100
      Allow 127.0.0.1
      \(credential.map { "BasicAuth \($0.user) \($0.password)" } ?? "")

      """, to: "tinyproxy.conf")
    return ["-d", "-c", site.folder.file("tinyproxy.conf")]
  }

  private func dante(_ site: RealServer.Site) throws -> [String] {
    try site.folder.write(
      """
      logoutput: \(site.folder.file("access.log"))
      internal: 127.0.0.1 port = \(site.port)
      external: lo
      socksmethod: none
      clientmethod: none
      user.privileged: root
      user.unprivileged: nobody
      client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 log: error }
      socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 log: connect error }

      """, to: "danted.conf")
    return ["-f", site.folder.file("danted.conf"), "-p", site.folder.file("danted.pid"), "-N", "1"]
  }
}
