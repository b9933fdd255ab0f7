import Foundation
import SwiftASN1
import X509

/// Certificates that are looked up by their subjects. A system trusts some 140 authorities, of which a process needs few: each is
/// read when its name is asked for. Those without a subject are left out.
struct NamedCertificates: CustomCertificateStore {
  /// By the subject's DER encoding.
  private let named: [Data: [SecCertificate]]
  private var added: [Certificate] = []

  init(_ certificates: [SecCertificate]) {
    var seen: Set<SecCertificate> = []
    var named: [Data: [SecCertificate]] = [:]
    for certificate in certificates {
      guard let subject = certificate.subjectBytes, seen.insert(certificate).inserted else { continue }
      named[subject, default: []].append(certificate)
    }
    self.named = named
  }

  var members: Set<SecCertificate> { Set(named.values.joined()) }

  subscript(subject: DistinguishedName) -> [Certificate]? {
    get async { certificates(of: subject) }
  }

  func contains(_ certificate: Certificate) async -> Bool {
    certificates(of: certificate.subject)?.contains(certificate) == true
  }

  mutating func append(contentsOf certificates: some Sequence<Certificate>) { added += Array(certificates) }

  private func certificates(of subject: DistinguishedName) -> [Certificate]? {
    var found = added.filter { $0.subject == subject }
    var serializer = DER.Serializer()
    if (try? serializer.serialize(subject)) != nil {
      found += (named[Data(serializer.serializedBytes)] ?? []).compactMap(\.parsed)
    }
    return found.isEmpty ? nil : found
  }
}
