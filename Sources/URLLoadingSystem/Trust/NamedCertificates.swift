import Foundation
import SwiftASN1
import X509

/// Certificates that are looked up by their subjects. A system trusts some 140 authorities, of which a process needs few: each is
/// read when its name is asked for. Those without a subject are left out.
struct NamedCertificates: CustomCertificateStore {
  /// By the subject's DER encoding, where all of its bytes are ASCII: two such names are equal when their bytes are.
  private var encoded: [Data: [SecCertificate]] = [:]
  /// The others by their names. Equal letters may have several encodings in Unicode, and what should be UTF-8 may be none.
  private var named: [DistinguishedName: [SecCertificate]] = [:]
  private var added: [Certificate] = []

  init(_ certificates: [SecCertificate]) {
    var seen: Set<SecCertificate> = []
    for certificate in certificates {
      guard let subject = certificate.subjectBytes, seen.insert(certificate).inserted else { continue }
      if subject.allSatisfy({ $0 < 0x80 }) {
        encoded[subject, default: []].append(certificate)
      } else if let name = try? DistinguishedName(derEncoded: DER.parse(Array(subject))) {
        named[name, default: []].append(certificate)
      }
    }
  }

  var members: Set<SecCertificate> { Set(encoded.values.joined()).union(named.values.joined()) }

  subscript(subject: DistinguishedName) -> [Certificate]? {
    get async { certificates(of: subject) }
  }

  func contains(_ certificate: Certificate) async -> Bool {
    certificates(of: certificate.subject)?.contains(certificate) == true
  }

  mutating func append(contentsOf certificates: some Sequence<Certificate>) { added += Array(certificates) }

  private func certificates(of subject: DistinguishedName) -> [Certificate]? {
    var kept = named[subject] ?? []
    var serializer = DER.Serializer()
    if (try? serializer.serialize(subject)) != nil { kept += encoded[Data(serializer.serializedBytes)] ?? [] }
    let found = kept.compactMap(\.parsed) + added.filter { $0.subject == subject }
    return found.isEmpty ? nil : found
  }
}
