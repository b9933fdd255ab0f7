import ChildProcess
import Foundation
import Glibc

/// What `openssl` said when it failed.
package struct OpenSSLFailure: Error, CustomStringConvertible {
  package let arguments: [String]
  package let message: String
  package var description: String { "openssl \(arguments.joined(separator: " ")): \(message)" }
}

/// The folders to remove when the process exits. A constant because an exit handler can capture nothing.
private let folderOfThisProcess = FileManager.default.temporaryDirectory
  .appendingPathComponent("loopback-certificates-\(getpid())-\(UUID().uuidString.prefix(8))").path

/// Makes keys and certificates by running the `openssl` program in a folder of its own.
struct OpenSSLTool {
  let folder = folderOfThisProcess

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    atexit { try? FileManager.default.removeItem(atPath: folderOfThisProcess) }
    guard !FileManager.default.fileExists(atPath: path("openssl.cnf")) else { return }
    try write("", to: "index.txt")
    try write(
      """
      [ca]
      default_ca = here
      [here]
      database = \(path("index.txt"))
      new_certs_dir = \(folder)
      rand_serial = yes
      default_md = sha256
      policy = any
      unique_subject = no
      [any]
      commonName = supplied
      [req]
      distinguished_name = name
      [name]
      """, to: "openssl.cnf")
  }

  func path(_ file: String) -> String { folder + "/" + file }

  func identity(_ file: String) -> TestCertificates.Identity {
    TestCertificates.Identity(
      certificateFile: path(file + ".pem"), keyFile: path(file + ".key"), authorityFile: path("authority.pem"))
  }

  /// An authority signed by another one, or by itself.
  func makeAuthority(_ file: String, name: String, signedBy authority: String?) throws {
    try sign(
      file, name: name,
      extensions: """
        basicConstraints = critical, CA:true
        keyUsage = critical, keyCertSign, cRLSign
        subjectKeyIdentifier = hash
        """,
      by: authority, from: Date(timeIntervalSinceNow: -90 * 86_400), until: Date(timeIntervalSinceNow: 90 * 86_400))
  }

  func makeLeaf(
    _ file: String, name: String, alternativeNames: String, usage: String, signedBy authority: String?, from: Date,
    until: Date
  ) throws {
    try sign(
      file, name: name,
      extensions: """
        basicConstraints = critical, CA:false
        keyUsage = critical, digitalSignature
        extendedKeyUsage = \(usage)
        subjectAltName = \(alternativeNames)
        """,
      by: authority, from: from, until: until)
  }

  func makeSelfSigned(_ file: String, alternativeNames: String) throws {
    try makeLeaf(
      file, name: "Loopback self-signed", alternativeNames: alternativeNames, usage: "serverAuth", signedBy: nil,
      from: Date(timeIntervalSinceNow: -86_400), until: Date(timeIntervalSinceNow: 30 * 86_400))
  }

  func exportPKCS12(_ file: String, passphrase: String) throws {
    try run([
      "pkcs12", "-export", "-in", path(file + ".pem"), "-inkey", path(file + ".key"), "-out", path(file + ".p12"),
      "-passout", "pass:" + passphrase,
    ])
  }

  func exportHalfPKCS12(_ file: String, without: String, passphrase: String) throws -> Data {
    let half = file + without + ".p12"
    let input = without == "-nokeys" ? path(file + ".pem") : path(file + ".key")
    try run([
      "pkcs12", "-export", without, "-in", input, "-inkey", path(file + ".key"), "-out", path(half), "-passout",
      "pass:" + passphrase,
    ])
    return try Data(contentsOf: URL(fileURLWithPath: path(half)))
  }

  func concatenate(_ files: [String], into file: String) throws {
    let texts = try files.map { try String(contentsOfFile: path($0), encoding: .utf8) }
    try write(texts.joined(), to: file)
  }

  /// Makes a key and its certificate. `openssl ca` is the one command that takes both ends of a validity.
  private func sign(
    _ file: String, name: String, extensions: String, by authority: String?, from: Date, until: Date
  ) throws {
    try run([
      "req", "-config", path("openssl.cnf"), "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-subj", "/CN=" + name, "-keyout", path(file + ".key"), "-out", path(file + ".csr"),
    ])
    try write(extensions + "\n", to: file + ".ext")
    let signer =
      authority.map { ["-cert", path($0 + ".pem"), "-keyfile", path($0 + ".key")] }
      ?? ["-selfsign", "-keyfile", path(file + ".key")]
    try run(
      ["ca", "-batch", "-notext", "-config", path("openssl.cnf"), "-in", path(file + ".csr")] + signer + [
        "-out", path(file + ".pem"), "-extfile", path(file + ".ext"), "-startdate", Self.time(from), "-enddate",
        Self.time(until),
      ])
  }

  /// YYYYMMDDHHMMSSZ (GeneralizedTime).
  private static func time(_ date: Date) -> String {
    var seconds = time_t(date.timeIntervalSince1970)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    return String(
      format: "%04d%02d%02d%02d%02d%02dZ", Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday),
      Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
  }

  private func write(_ text: String, to file: String) throws {
    try text.write(toFile: path(file), atomically: false, encoding: .utf8)
  }

  private func run(_ arguments: [String]) throws {
    let process = ChildProcess()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let message = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw OpenSSLFailure(arguments: arguments, message: String(decoding: message, as: UTF8.self))
    }
  }
}
