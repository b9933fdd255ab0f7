import Foundation
import HTTPSemantics
import NIOCore

/// Hashes a body as it came, and judges at its end whether it is the one that the server's proof covers. Confined to the
/// load's event loop.
///
/// The bytes pass before they are judged: only the end of a body that is not proven is an error.
final class ProvenBody: BodyFilter {
  private let proof: BodyProof
  private let url: URL?
  private let loop: any EventLoop
  private let trailers: () -> HTTPFields?
  private var hasher: DigestHasher
  private var isProven = false
  private var completion: (() -> Void)?

  /// - Parameter trailers: Gives the trailer fields once the body has ended; nil where there are none.
  init(_ proof: BodyProof, url: URL?, trailers: @escaping () -> HTTPFields?, on loop: any EventLoop) {
    self.proof = proof
    self.url = url
    self.trailers = trailers
    self.loop = loop
    hasher = DigestHasher(proof.hash)
  }

  /// Calls `action` when the whole body has passed and is the server's: now, or later, or never where the rest of the
  /// body is given up.
  func whenProven(_ action: @escaping () -> Void) {
    loop.assertInEventLoop()
    if isProven { action() } else { completion = action }
  }

  func take(from input: () throws -> BodyPart) throws -> BodyPart {
    loop.assertInEventLoop()
    let part = try input()
    switch part {
    case .bytes(let bytes): bytes.withUnsafeReadableBytes { hasher.update($0) }
    case .end:
      do { try proof.judge(hasher.finished(), trailers()) } catch { throw ErrorMapping.urlError(error, url: url) }
      isProven = true
      completion?()
      completion = nil
    case .pending, .busy: break
    }
    return part
  }
}
