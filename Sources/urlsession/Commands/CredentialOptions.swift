import ArgumentParser
import Foundation
import URLLoadingSystem

/// The caller's credentials, and the servers that are trusted.
struct CredentialOptions: ParsableArguments {
  @OptionGroup var loginOptions: LoginOptions

  @Flag(help: "Take user names and passwords from ~/.netrc, or from the file that NETRC names.")
  var netrc = false

  @Option(help: ArgumentHelp("As --netrc, from this file.", valueName: "file"), completion: .file())
  var netrcFile: String?

  @Flag(help: "Use Kerberos for servers that offer Negotiate, and nothing weaker.")
  var negotiate = false

  @Option(
    help: ArgumentHelp("A client certificate in PEM, for servers that ask for one.", valueName: "file"),
    completion: .file())
  var cert: String?

  @Option(
    help: ArgumentHelp("The private key of --cert, where it is not in the same file.", valueName: "file"),
    completion: .file())
  var key: String?

  @Option(
    help: ArgumentHelp("Trust these authorities, in PEM, instead of the system's.", valueName: "file"),
    completion: .file())
  var cacert: String?

  @Option(
    name: .customLong("pin-sha256"),
    help: ArgumentHelp(
      "Trust only servers whose public key has this SHA-256, in base64; may be given several times.",
      valueName: "hash"))
  var pins: [PinArgument] = []

  func validate() throws {
    if key != nil, cert == nil { throw ValidationError("--key needs --cert FILE") }
  }

  /// Reads the files that the options name.
  func answers(for url: URL) throws -> CredentialAnswers {
    CredentialAnswers(
      for: url, user: loginOptions.user, password: try loginOptions.password(), netrc: try netrcEntries(),
      identity: try identity(), pins: Set(pins.map(\.hash)), usesNegotiateOnly: negotiate)
  }

  private func netrcEntries() throws -> NetRC? {
    if let netrcFile { return try NetRC.read(netrcFile) }
    guard netrc else { return nil }
    let environment = ProcessInfo.processInfo.environment
    let home = environment["HOME"] ?? NSHomeDirectory()
    return try NetRC.read(environment["NETRC"] ?? home + "/.netrc")
  }

  private func identity() throws -> URLCredential? {
    guard let cert else { return nil }
    let certificates = try SecretFile.content(cert)
    let key = try key.map(SecretFile.content) ?? certificates
    do {
      let identity = try SecIdentity(pemCertificate: certificates, pemPrivateKey: key)
      let chain = SecCertificate.certificates(inPEM: certificates).dropFirst()
      return URLCredential(identity: identity, certificates: Array(chain), persistence: .forSession)
    } catch {
      throw CommandFailure(
        .usage, "the client certificate can't be used: \((error as NSError).localizedDescription)",
        advice: "give a certificate and its unencrypted key in PEM with --cert and --key")
    }
  }
}
