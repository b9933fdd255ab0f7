import HTTPSemantics
import Testing

/// The examples that NIST publishes for SHA-512/256, and lengths around a block's end.
@Suite struct SHA512_256Tests {
  static let twoBlocks =
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"

  @Test(
    arguments: [
      ("", "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"),
      ("abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
      (twoBlocks, "3928e184fb8690f840da3988121d31be65cb9d3ef83ee6146feac861e19b563a"),
      (String(repeating: "a", count: 111), "0239e429f98d0ed61ee8e2a7c30afe98c1c3a80ce5dff62a107e9c538f7632ce"),
      (String(repeating: "a", count: 112), "9216b5303edb66504570bee90e48ea5beaa5e9fe9f760bbd3e0460559fc005f6"),
      (String(repeating: "a", count: 127), "2fe3b2a6ee7e12f6fe4ba82166541ad9b4ed882c493581cbe300d68f3757b778"),
      (String(repeating: "a", count: 128), "b88f97e274f9c1d49f181c8cbd01a9c74930ad055a46ac4499a1d601f1c80bf2"),
      (String(repeating: "a", count: 129), "fb9035c9009ed4a60e37510339ebdb1c771339f30aa581d5dea3690a524c23f1"),
    ])
  func hashMatchesThePublishedOne(text: String, hash: String) {
    #expect(DigestHash.sha512_256.hex(Array(text.utf8)) == hash)
  }

  @Test(arguments: DigestHash.allCases, [1, 63, 127, 128, 200])
  func piecesGiveTheHashOfTheWhole(hash: DigestHash, size: Int) {
    let whole = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var hasher = DigestHasher(hash)
    for start in stride(from: 0, to: whole.count, by: size) {
      whole[start..<min(start + size, whole.count)].withUnsafeBytes { hasher.update($0) }
    }
    #expect(hasher.finished() == hash.hex(whole))
  }
}
