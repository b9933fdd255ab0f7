import Foundation
import HTTPTransport
import NIOPosix
import Synchronization
import X509

/// The certificates that are trusted by themselves: authorities, and single servers' that were put beside them.
struct TrustedCertificates: Sendable {
  /// The same by their names, none of them read before its name is asked for.
  let store: CertificateStore
  private let members: Set<SecCertificate>
  /// The chains that were found when only these certificates counted.
  let memory = TrustMemory()

  init(_ certificates: [SecCertificate] = []) {
    let authorities = NamedCertificates(certificates)
    store = CertificateStore(custom: authorities)
    members = authorities.members
  }

  func contains(_ certificate: SecCertificate) -> Bool { members.contains(certificate) }

  var isEmpty: Bool { members.isEmpty }
}

/// The certificate authorities that a session trusts, read once a process when the first certificate is judged.
final class TrustStore: Sendable {
  private enum Source: Hashable {
    /// Files and folders, all of which count.
    case all([String])
    /// The first of these files that is there.
    case first([String])
  }

  private static let stores = Mutex<[Source: TrustStore]>([:])

  private let source: Source
  private let loaded = Mutex<TrustedCertificates?>(nil)

  private init(_ source: Source) { self.source = source }

  /// The store of a configuration. SSL_CERT_FILE and SSL_CERT_DIR name another one than the system's, as for every
  /// program over OpenSSL.
  static func of(_ roots: TransportConfiguration.TrustRoots) -> TrustStore {
    let source: Source
    switch roots {
    case .file(let path): source = .all([path])
    case .files(let paths): source = .all(paths)
    case .system:
      let paths = TransportConfiguration.TrustRoots.named(in: TrustStore.environment)
      source = paths.isEmpty ? .first(TrustStore.systemFiles) : .all(paths)
    }
    return stores.withLock { stores in
      if let store = stores[source] { return store }
      let store = TrustStore(source)
      stores[source] = store
      return store
    }
  }

  /// The two variables that may name a store, and no others: this is asked for each handshake.
  private static var environment: [String: String] {
    var found: [String: String] = [:]
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
      if let value = getenv(name) { found[name] = String(cString: value) }
    }
    return found
  }

  /// The paths at which distributions keep the bundle.
  private static let systemFiles = [
    "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora, older
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora
    "/etc/ssl/ca-bundle.pem",  // openSUSE
    "/etc/ssl/cert.pem",  // Alpine, OpenBSD's layout
  ]

  /// The authorities; reads them on a thread that may wait for the disk.
  func certificates() async -> TrustedCertificates {
    if let ready = loaded.withLock({ $0 }) { return ready }
    let read = try? await NIOThreadPool.singleton.runIfActive { self.read() }
    let store = read ?? TrustedCertificates()
    // A bundle that could not be read, such as while it is being updated, is read again for the next certificate.
    if !store.isEmpty { loaded.withLock { $0 = store } }
    return store
  }

  private func read() -> TrustedCertificates {
    if let ready = loaded.withLock({ $0 }) { return ready }
    let files: [String]
    switch source {
    case .first(let candidates):
      files = candidates.first { FileManager.default.isReadableFile(atPath: $0) }.map { [$0] } ?? []
    case .all(let paths): files = paths.flatMap { TrustStore.files(at: $0) }
    }
    let certificates = files.flatMap { file -> [SecCertificate] in
      guard let pem = FileManager.default.contents(atPath: file) else { return [] }
      return PEMBlocks(of: "CERTIFICATE", in: pem).map { SecCertificate(derBytes: $0) }
    }
    return TrustedCertificates(certificates)
  }

  private static func files(at path: String) -> [String] {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
      return [path]
    }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.sorted().map { path + "/" + $0 }
  }
}
