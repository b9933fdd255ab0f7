/// A Digest challenge that can be answered (RFC 7616 §3.3; without `qop`, RFC 2069 §2.1.1).
package struct DigestChallenge: Sendable, Equatable {
  /// nil when the challenge has none: then it is empty where it is hashed and sent back.
  package let realm: String?
  package let nonce: String
  package let opaque: String?
  package let algorithm: DigestAlgorithm
  /// As the server wrote it, which is how it is sent back; nil when it said none, which means MD5.
  let algorithmName: String?
  /// The parts of a message that the response will cover: `auth` where the server takes it, otherwise `auth-int`; nil
  /// for RFC 2069.
  package let quality: DigestQuality?
  /// The URI references of the protection space, as written.
  package let domain: [String]
  /// The nonce of the request was too old; user name and password were right.
  package let isStale: Bool
  package let wantsUserHash: Bool
  package let announcesUTF8: Bool

  /// Why a challenge can't be answered.
  package enum Refusal: Error, Sendable, Equatable {
    case notDigest
    case missingNonce
    case unsupportedAlgorithm
    /// `qop` names only values that are not known.
    case unsupportedQuality
    /// A value that is to be sent back holds a control character.
    case unsendableValue
  }

  package init(_ challenge: AuthenticationChallenge) throws(Refusal) {
    guard challenge.scheme == "digest" else { throw .notDigest }
    let parameters = challenge.parameters
    guard let nonce = parameters["nonce"], !nonce.isEmpty else { throw .missingNonce }
    realm = challenge.realm
    self.nonce = nonce
    opaque = parameters["opaque"]
    guard [realm ?? "", nonce, opaque ?? ""].allSatisfy(FieldValidation.isFieldValue) else { throw .unsendableValue }

    // RFC 7616 §3.3: without a value it is MD5; with one that is not understood, the challenge is ignored.
    algorithmName = parameters["algorithm"]
    guard let algorithm = DigestAlgorithm(algorithmName ?? "MD5") else { throw .unsupportedAlgorithm }
    self.algorithm = algorithm

    // RFC 7616 §3.3: values that are not known are ignored.
    let names = DigestChallenge.members(of: parameters["qop"] ?? "", separatedBy: UInt8(ascii: ","))
    let qualities = names.compactMap { DigestQuality(rawValue: $0.asciiLowercased()) }
    guard names.isEmpty || !qualities.isEmpty else { throw .unsupportedQuality }
    quality = qualities.contains(.authentication) ? .authentication : qualities.first

    domain = DigestChallenge.members(of: parameters["domain"] ?? "", separatedBy: UInt8(ascii: " "))
    // RFC 7616 §3.3, §3.4: anything but `true` means false.
    isStale = asciiCaseInsensitiveEqual(parameters["stale"] ?? "", "true")
    wantsUserHash = asciiCaseInsensitiveEqual(parameters["userhash"] ?? "", "true")
    announcesUTF8 = CredentialText.announcesUTF8(challenge)
  }

  private static func members(of list: String, separatedBy separator: UInt8) -> [String] {
    // Bytes: a separator in front of a combining mark is a separator too.
    list.utf8.split(separator: separator).map { Substring($0).trimmingHTTPWhitespace() }.filter { !$0.isEmpty }
  }
}
