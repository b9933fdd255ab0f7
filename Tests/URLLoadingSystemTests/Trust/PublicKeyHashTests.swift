import Foundation
import Testing

@testable import URLLoadingSystem

/// The hash that pins name keys by (RFC 7469 §2.4), against those of
/// `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
@Suite struct PublicKeyHashTests {
  private static let elliptic = """
    -----BEGIN CERTIFICATE-----
    MIIBcTCCARegAwIBAgIUTiJhN04LJu7BuXXHHqITkx2HEDwwCgYIKoZIzj0EAwIw
    DTELMAkGA1UEAwwCdjMwIBcNMjYxMTIzMDQ1ODQzWhgPMjEyNjEwMzAwNDU4NDNa
    MA0xCzAJBgNVBAMMAnYzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAER1WvHY99
    9BoiO6HrBqX52VtJsd5YQttki+zkjN/R/XqD6Vy23Dp3k7wC7bqA/4Yn1I9jP0W8
    9CYzZ23N/PbcH6NTMFEwHQYDVR0OBBYEFJBFZfuOarFryxQN9SxCfALvnuqsMB8G
    A1UdIwQYMBaAFJBFZfuOarFryxQN9SxCfALvnuqsMA8GA1UdEwEB/wQFMAMBAf8w
    CgYIKoZIzj0EAwIDSAAwRQIgaJ5bMnB+mgGydXdwzViEMM4Xzv+LlGk2kcY+eWqR
    GCwCIQDYPECRhqE2gzw8GmwzZqGyKbicZLNxjC3vyOgdd/ddyA==
    -----END CERTIFICATE-----
    """

  /// Of version 1, which certificates do not say.
  private static let edwards = """
    -----BEGIN CERTIFICATE-----
    MIHWMIGJAhRCMx6VmBT+5oQh7tToCofo0hCjZzAFBgMrZXAwDTELMAkGA1UEAwwC
    djEwIBcNMjYxMTIzMDQ1ODQzWhgPMjEyNjEwMzAwNDU4NDNaMA0xCzAJBgNVBAMM
    AnYxMCowBQYDK2VwAyEAoDO4WvKIqj/eEabkvEGFGhhgRCBIUveOZTmZhzYDzPkw
    BQYDK2VwA0EATX1WvkB2z4FvZiLlzj4yxDmPcIPo6632Nie6JfmDqI9NneiI9DQH
    XA9OgBd7EEMiOATBMMjOgPo/plF1MUZ+BQ==
    -----END CERTIFICATE-----
    """

  @Test(arguments: [
    (PublicKeyHashTests.elliptic, "kWYmnQ1eC8Jk9kMD3yAmp87M/DVPWQr0q31t/LqZiKY="),
    (PublicKeyHashTests.edwards, "zQyv4xZX7R0srqKPwyUZhsBKKQRkFweAYTSDixxs9nc="),
  ])
  func theAlgorithmIsHashedToo(pem: String, hash: String) throws {
    let certificate = try #require(SecCertificate.certificates(inPEM: Data(pem.utf8)).first)
    #expect(certificate.publicKeySHA256?.base64EncodedString() == hash)
  }

  @Test func bytesThatAreNoCertificateHaveNone() {
    #expect(SecCertificate(derBytes: Data([0x30, 0])).publicKeySHA256 == nil)
  }
}
