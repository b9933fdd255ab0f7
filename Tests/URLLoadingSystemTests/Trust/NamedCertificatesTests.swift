import Foundation
import LoopbackServer
import SwiftASN1
import Testing
import X509

@testable import URLLoadingSystem

@Suite struct NamedCertificatesTests {
  private func certificates(in file: String) throws -> [SecCertificate] {
    SecCertificate.certificates(inPEM: try Data(contentsOf: URL(fileURLWithPath: file)))
  }

  /// The store of this machine, where it has one, has many ways to write names.
  @Test func theSubjectIsFoundWithoutReadingTheRest() throws {
    let made = try TestCertificates.shared()
    var all = try certificates(in: made.authorityFile) + certificates(in: made.chained.certificateFile)
    all += (try? certificates(in: "/etc/ssl/certs/ca-certificates.crt")) ?? []
    for certificate in all {
      var serializer = DER.Serializer()
      try serializer.serialize(try #require(certificate.parsed).subject)
      #expect(certificate.subjectBytes == Data(serializer.serializedBytes), "\(certificate)")
    }
  }

  @Test func whatIsCutOffHasNoSubject() throws {
    let whole = try #require(certificates(in: TestCertificates.shared().authorityFile).first).derBytes
    for length in 0..<whole.count { #expect(SecCertificate(derBytes: whole.prefix(length)).subjectBytes == nil) }
    // A certificate may be a slice of more.
    let slice = (Data([1, 2, 3]) + whole)[3...]
    #expect(SecCertificate(derBytes: slice).subjectBytes == SecCertificate(derBytes: whole).subjectBytes)
  }

  @Test func certificatesAreFoundByTheirSubjects() async throws {
    let made = try TestCertificates.shared()
    let authority = try #require(certificates(in: made.authorityFile).first)
    let other = try #require(certificates(in: made.chained.certificateFile).first)
    let (parsed, otherParsed) = (try #require(authority.parsed), try #require(other.parsed))
    var store = NamedCertificates([authority, SecCertificate(derBytes: Data("no certificate".utf8)), authority])
    #expect(store.members == [authority])
    #expect(await store[parsed.subject] == [parsed])
    #expect(await store.contains(parsed))
    #expect(await store[otherParsed.subject] == nil)
    #expect(await !store.contains(otherParsed))
    store.append(contentsOf: [otherParsed])
    #expect(await store[otherParsed.subject] == [otherParsed])
    #expect(await store.contains(otherParsed))
  }
}
