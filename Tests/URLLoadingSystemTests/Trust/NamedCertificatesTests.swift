import Crypto
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

  private func authority(_ name: String) throws -> SecCertificate {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let subject = try DistinguishedName { CommonName(name) }
    return SecCertificate(
      try Certificate(
        version: .v3, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: Date() - 60,
        notValidAfter: Date() + 3600, issuer: subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
        extensions: Certificate.Extensions {}, issuerPrivateKey: key))
  }

  @Test func severalMayHaveOneSubject() async throws {
    let authorities = try (0..<3).map { _ in try authority("Authority") }
    let parsed = authorities.compactMap(\.parsed)
    var store = NamedCertificates(Array(authorities.prefix(2)))
    store.append(contentsOf: [parsed[2]])
    #expect(await store[parsed[0].subject] == parsed)
  }

  /// As the library compares names: by their letters, of which Unicode has several encodings.
  @Test func aNameIsFoundByItsLetters() async throws {
    let authority = try authority("Autorit\u{e9}")
    let parsed = try #require(authority.parsed)
    let other = try DistinguishedName { CommonName("Autorite\u{301}") }
    let store = NamedCertificates([authority])
    #expect(store.members == [authority])
    #expect(await store[parsed.subject] == [parsed])
    #expect(await store[other] == [parsed])
  }

  /// The library reads such a name with other bytes than those of the certificate.
  @Test func aNameThatIsNoUTF8IsFound() async throws {
    var bytes = try authority("Autorit\u{e9}").derBytes
    while let place = bytes.range(of: Data("Autorit\u{e9}".utf8)) {
      bytes.replaceSubrange(place, with: Array("Autorit".utf8) + [0xe9, 0x73])
    }
    let broken = SecCertificate(derBytes: bytes)
    let parsed = try #require(broken.parsed)
    let store = NamedCertificates([broken])
    #expect(await store[parsed.subject] == [parsed])
    #expect(await store.contains(parsed))
  }
}
