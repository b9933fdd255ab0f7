import Crypto
import Foundation
import LoopbackServer
import SwiftASN1
import Testing
import X509

@testable import URLLoadingSystem

@Suite struct SecTrustTests {
  private let made: TestCertificates

  init() throws { made = try TestCertificates.shared() }

  private func chain(_ identity: TestCertificates.Identity) throws -> [SecCertificate] {
    SecCertificate.certificates(inPEM: try Data(contentsOf: URL(fileURLWithPath: identity.certificateFile)))
  }

  private func authority() throws -> SecCertificate {
    let pem = try Data(contentsOf: URL(fileURLWithPath: made.authorityFile))
    return try #require(SecCertificate.certificates(inPEM: pem).first)
  }

  private func trust(_ identity: TestCertificates.Identity, host: String? = "localhost") throws -> SecTrust {
    var made: SecTrust?
    let policy = SecPolicyCreateSSL(true, host.map { $0 as CFString })
    let certificates = try chain(identity) as CFArray
    #expect(SecTrustCreateWithCertificates(certificates, policy, &made) == errSecSuccess)
    return try #require(made)
  }

  // MARK: Judging

  @Test func anchorsAreTrusted() throws {
    let trust = try trust(made.chained)
    let root = try authority()
    var error: CFError?
    #expect(!SecTrustEvaluateWithError(trust, &error))
    #expect(error?.domain == NSOSStatusErrorDomain && error?.code == Int(errSecCreateChainFailed))
    var result = SecTrustResultType.proceed
    SecTrustGetTrustResult(trust, &result)
    #expect(result == .recoverableTrustFailure)
    SecTrustSetAnchorCertificates(trust, [try authority()] as CFArray)
    SecTrustGetTrustResult(trust, &result)
    #expect(result == .invalid)
    #expect(SecTrustEvaluateWithError(trust, &error))
    #expect(error == nil)
    SecTrustEvaluate(trust, &result)
    #expect(result == .unspecified)
    // Now the chain goes on to the root.
    #expect(SecTrustGetCertificateCount(trust) == 3)
    #expect(SecTrustGetCertificateAtIndex(trust, 2) == root)
    #expect(SecTrustGetCertificateAtIndex(trust, 3) == nil && SecTrustGetCertificateAtIndex(trust, -1) == nil)
    var anchors: CFArray?
    SecTrustCopyCustomAnchorCertificates(trust, &anchors)
    #expect(anchors as? [SecCertificate] == [root])
    SecTrustSetAnchorCertificates(trust, nil)
    #expect(!SecTrustEvaluateWithError(trust, nil))
  }

  /// A certificate that is pinned may be one that signed itself.
  @Test func aSelfSignedCertificateCanBeAnAnchor() throws {
    let trust = try trust(made.selfSigned)
    #expect(!SecTrustEvaluateWithError(trust, nil))
    SecTrustSetAnchorCertificates(trust, try chain(made.selfSigned) as CFArray)
    SecTrustSetAnchorCertificatesOnly(trust, true)
    #expect(SecTrustEvaluateWithError(trust, nil))
  }

  @Test func theDateCanBeAnother() throws {
    let trust = try trust(made.expired)
    SecTrustSetAnchorCertificates(trust, [try authority()] as CFArray)
    var error: CFError?
    #expect(!SecTrustEvaluateWithError(trust, &error))
    #expect(error?.code == Int(errSecCertificateExpired))
    let then = Date(timeIntervalSinceNow: -30 * 86_400)
    SecTrustSetVerifyDate(trust, then as CFDate)
    #expect(SecTrustGetVerifyTime(trust) == then.timeIntervalSinceReferenceDate)
    #expect(SecTrustEvaluateWithError(trust, &error))
    let future = try self.trust(made.notYetValid)
    SecTrustSetAnchorCertificates(future, [try authority()] as CFArray)
    #expect(!SecTrustEvaluateWithError(future, &error))
    #expect(error?.code == Int(errSecCertificateNotValidYet))
  }

  @Test func policiesDecideWhatCounts() throws {
    let trust = try trust(made.localhost, host: "example.com")
    SecTrustSetAnchorCertificates(trust, [try authority()] as CFArray)
    var error: CFError?
    #expect(!SecTrustEvaluateWithError(trust, &error))
    #expect(error?.code == Int(errSecHostNameMismatch))
    SecTrustSetPolicies(trust, SecPolicyCreateBasicX509())
    #expect(SecTrustEvaluateWithError(trust, nil))
    SecTrustSetPolicies(trust, [SecPolicyCreateSSL(true, "localhost" as CFString)] as CFArray)
    #expect(SecTrustEvaluateWithError(trust, nil))
    SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, nil))
    #expect(SecTrustEvaluateWithError(trust, nil))
    // A server's certificate is no client's.
    SecTrustSetPolicies(trust, SecPolicyCreateSSL(false, nil))
    #expect(!SecTrustEvaluateWithError(trust, &error))
    #expect(error?.code == Int(errSecCertificatePolicyNotAllowed))
    var policies: CFArray?
    SecTrustCopyPolicies(trust, &policies)
    #expect(policies as? [SecPolicy] == [SecPolicyCreateSSL(false, nil)])
    #expect(SecTrustSetPolicies(trust, "no policy") == errSecParam)
  }

  @Test func exceptionsOverlookWhatIsWrong() throws {
    let trust = try trust(made.selfSigned)
    let exceptions = try #require(SecTrustCopyExceptions(trust))
    #expect(!SecTrustEvaluateWithError(trust, nil))
    #expect(SecTrustSetExceptions(trust, exceptions))
    #expect(SecTrustEvaluateWithError(trust, nil))
    var result = SecTrustResultType.invalid
    SecTrustEvaluate(trust, &result)
    #expect(result == .proceed)
    let another = try self.trust(made.localhost)
    #expect(!SecTrustSetExceptions(another, exceptions))
  }

  /// An anchor is judged like others, but for its signature; what is overlooked is overlooked there, too.
  @Test func exceptionsCountForAnAnchorThatIsItsOwnLeaf() throws {
    let trust = try trust(made.selfSigned)
    SecTrustSetAnchorCertificates(trust, try chain(made.selfSigned) as CFArray)
    SecTrustSetVerifyDate(trust, Date(timeIntervalSinceNow: 100 * 365 * 86_400) as CFDate)
    var error: CFError?
    #expect(!SecTrustEvaluateWithError(trust, &error))
    #expect(error?.code == Int(errSecCertificateExpired))
    let exceptions = try #require(SecTrustCopyExceptions(trust))
    #expect(SecTrustSetExceptions(trust, exceptions))
    #expect(SecTrustEvaluateWithError(trust, nil))
    var result = SecTrustResultType.invalid
    SecTrustEvaluate(trust, &result)
    #expect(result == .proceed)
  }

  @Test func judgingWorksFromSwiftTasksAndQueues() async throws {
    let trust = try trust(made.localhost)
    SecTrustSetAnchorCertificates(trust, [try authority()] as CFArray)
    // More at a time than Swift's pool has threads: none of them may wait for another.
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<16 {
        group.addTask {
          SecTrustSetVerifyDate(trust, Date())
          return SecTrustEvaluateWithError(trust, nil)
        }
      }
      for await isTrusted in group { #expect(isTrusted) }
    }
    let isTrusted = await withCheckedContinuation { continuation in
      SecTrustEvaluateAsyncWithError(trust, .global()) { _, isTrusted, _ in continuation.resume(returning: isTrusted) }
    }
    #expect(isTrusted)
  }

  @Test func whatIsNoCertificateIsNotTrusted() throws {
    let trust = SecTrust(certificates: [SecCertificate(derBytes: Data([0x30, 0]))], host: "localhost")
    var result = SecTrustResultType.invalid
    SecTrustEvaluate(trust, &result)
    #expect(result == .fatalTrustFailure)
    #expect(SecTrustCopyKey(trust) == nil)
    var none: SecTrust?
    #expect(SecTrustCreateWithCertificates([] as CFArray, nil, &none) == errSecParam && none == nil)
    #expect(!SecTrustEvaluateWithError(SecTrust(certificates: [], host: nil), nil))
  }

  /// Each authority has signed each other one, so there are more chains than can be looked at, and none leads to a root.
  @Test(.timeLimit(.minutes(1))) func certificatesThatSignEachOtherEndTheSearch() throws {
    let names = try (0..<8).map { number in try DistinguishedName { CommonName("Authority \(number)") } }
    let keys = names.map { _ in Certificate.PrivateKey(P256.Signing.PrivateKey()) }
    func sign(_ subject: DistinguishedName, _ key: Certificate.PrivateKey, by issuer: Int) throws -> SecCertificate {
      let certificate = try Certificate(
        version: .v3, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: Date() - 60,
        notValidAfter: Date() + 3600, issuer: names[issuer], subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
        extensions: Certificate.Extensions { Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil)) },
        issuerPrivateKey: keys[issuer])
      return SecCertificate(certificate)
    }
    let leaf = try sign(
      DistinguishedName { CommonName("Leaf") }, Certificate.PrivateKey(P256.Signing.PrivateKey()), by: 0)
    var others: [SecCertificate] = []
    for subject in names.indices {
      for issuer in names.indices where issuer != subject {
        others.append(try sign(names[subject], keys[subject], by: issuer))
      }
    }
    #expect(!SecTrustEvaluateWithError(SecTrust(certificates: [leaf] + others, host: nil), nil))
  }

  // MARK: Certificates, keys, identities

  @Test func certificatesHaveParts() throws {
    let certificate = try #require(try chain(made.localhost).first)
    #expect(SecCertificateCreateWithData(nil, SecCertificateCopyData(certificate)) == certificate)
    #expect(SecCertificateCreateWithData(nil, Data("nothing".utf8) as CFData) == nil)
    #expect(SecCertificateCopySubjectSummary(certificate) as String? == "Loopback localhost")
    var name: CFString?
    #expect(SecCertificateCopyCommonName(certificate, &name) == errSecSuccess && name == "Loopback localhost")
    #expect((SecCertificateCopySerialNumberData(certificate, nil)?.count ?? 0) > 0)
    let key = try #require(SecCertificateCopyKey(certificate))
    let trust = try trust(made.localhost)
    #expect(SecTrustCopyKey(trust) == key)
    let bytes = try #require(SecKeyCopyExternalRepresentation(key, nil))
    #expect(bytes.count == 65 && bytes.first == 4)
    let attributes = SecKeyCopyAttributes(key) as? [CFString: Any]
    #expect(attributes?[kSecAttrKeyType] as? String == kSecAttrKeyTypeECSECPrimeRandom as String)
    #expect(attributes?[kSecAttrKeySizeInBits] as? Int == 256)
    #expect(SecKeyGetBlockSize(key) == 32)
    let client = try #require(try chain(made.client).first)
    var addresses: CFArray?
    #expect(SecCertificateCopyEmailAddresses(client, &addresses) == errSecSuccess)
    #expect(addresses as? [String] == ["client@loopback.example"])
    let until = try #require(SecCertificateCopyNotValidAfterDate(certificate))
    let from = try #require(SecCertificateCopyNotValidBeforeDate(certificate))
    #expect(until > Date() && from < Date())
  }

  @Test func identitiesAreReadFromPKCS12() throws {
    let file = try Data(contentsOf: URL(fileURLWithPath: made.clientPKCS12File))
    var items: CFArray?
    #expect(SecPKCS12Import(file, [kSecImportExportPassphrase: "wrong"], &items) == errSecAuthFailed && items == nil)
    #expect(SecPKCS12Import(Data("no such file".utf8), [kSecImportExportPassphrase: "x"], &items) == errSecDecode)
    let right: CFDictionary = [kSecImportExportPassphrase: made.clientPassphrase]
    #expect(SecPKCS12Import(file, right, &items) == errSecSuccess)
    let item = try #require(items?.first as? [String: Any])
    #expect(items?.count == 1)
    let identity = try #require(item[kSecImportItemIdentity] as? SecIdentity)
    var certificate: SecCertificate?
    #expect(SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess)
    let first = try chain(made.client).first
    #expect(certificate == first)
    var key: SecKey?
    #expect(SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess)
    // X9.63: the point and the number.
    #expect(key.flatMap { SecKeyCopyExternalRepresentation($0, nil) }?.count == 97)
    let privateKey = try #require(key)
    #expect(SecKeyCopyAttributes(privateKey)?[kSecAttrKeyClass] as? String == kSecAttrKeyClassPrivate)
    #expect((item[kSecImportItemCertChain] as? [SecCertificate])?.first == certificate)
    let again = SecIdentityCreate(nil, try #require(certificate), privateKey)
    #expect(again == identity)
    let other = try #require(try chain(made.localhost).first)
    #expect(SecIdentityCreate(nil, other, privateKey) == nil)
  }

  /// The library below would end the process.
  @Test(arguments: ["-nokeys", "-nocerts"]) func aPKCS12FileWithHalfAnIdentityIsRefused(_ without: String) throws {
    let file = try made.halfPKCS12(without)
    var items: CFArray?
    let options: CFDictionary = [kSecImportExportPassphrase: made.clientPassphrase]
    #expect(SecPKCS12Import(file, options, &items) == errSecItemNotFound && items == nil)
  }

  @Test func aKeyMustFitItsCertificate() throws {
    let pem = try Data(contentsOf: URL(fileURLWithPath: made.client.certificateFile))
    let other = try Data(contentsOf: URL(fileURLWithPath: made.localhost.keyFile))
    #expect(throws: NSError.self) { try SecIdentity(pemCertificate: pem, pemPrivateKey: other) }
    #expect(throws: NSError.self) { try SecIdentity(pemCertificate: Data(), pemPrivateKey: other) }
    #expect(throws: NSError.self) { try SecIdentity(pemCertificate: pem, pemPrivateKey: Data("x".utf8)) }
  }
}

@Suite struct ServerNamesTests {
  struct Case: Sendable {
    let pattern: String
    let host: String
    let matches: Bool
  }

  static let cases = [
    Case(pattern: "example.com", host: "EXAMPLE.com", matches: true),
    Case(pattern: "example.com", host: "example.com.", matches: true),
    Case(pattern: "example.com", host: "www.example.com", matches: false),
    Case(pattern: "*.example.com", host: "www.example.com", matches: true),
    Case(pattern: "*.example.com", host: "example.com", matches: false),
    Case(pattern: "*.example.com", host: "a.b.example.com", matches: false),
    Case(pattern: "*.example.com", host: ".example.com", matches: false),
    Case(pattern: "w*.example.com", host: "www.example.com", matches: false),
    Case(pattern: "*.*.example.com", host: "a.b.example.com", matches: false),
    Case(pattern: "www.*.com", host: "www.example.com", matches: false),
    Case(pattern: "*.com", host: "example.com", matches: false), Case(pattern: "*", host: "localhost", matches: false),
    Case(pattern: "127.0.0.1", host: "127.0.0.1", matches: false),
    Case(pattern: "xn--mnchen-3ya.de", host: "xn--mnchen-3ya.de", matches: true),
    Case(pattern: "", host: "example.com", matches: false),
    Case(pattern: "a\u{0}.com", host: "a\u{0}.com", matches: false),
  ]

  @Test(arguments: cases) func aPatternCoversAHost(_ test: Case) {
    #expect(ServerNames(names: [test.pattern]).cover(test.host) == test.matches)
  }

  @Test func aZoneIsNoPartOfAnAddress() {
    let names = ServerNames(names: ["a%b.example"], addresses: [[0xfe, 0x80] + Array(repeating: 0, count: 13) + [1]])
    #expect(names.cover("fe80::1%eth0") && names.cover("[fe80::1%eth0]") && names.cover("fe80::1"))
    #expect(!names.cover("fe80::2%eth0") && names.cover("a%b.example"))
  }

  @Test func addressesAreComparedAsAddresses() {
    let names = ServerNames(names: [], addresses: [[127, 0, 0, 1], Array(repeating: 0, count: 15) + [1]])
    #expect(names.cover("127.0.0.1") && names.cover("::1") && names.cover("[::1]") && names.cover("0:0:0:0:0:0:0:1"))
    #expect(!names.cover("127.0.0.2") && !names.cover("localhost"))
  }
}
