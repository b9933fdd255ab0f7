import Foundation
import HTTPSemantics
import NIOCore

/// The place where the bytes of a download are kept, and how durable they are there. Used on the load's event loop, one
/// call at a time; a call that does not return holds the transfer back.
package protocol DownloadDestination: AnyObject, Sendable {
  /// How many bytes it holds: those of earlier tries and those that `write` has taken over.
  var received: Int64 { get }
  /// The body of a response follows, from `received` on. Called before each body of a download of several parts.
  func begin(_ representation: DownloadRepresentation) async throws
  /// Takes bytes over. Suspends while the disk is behind; throws when an earlier write failed.
  func write(_ bytes: ByteBuffer) async throws
  /// Forgets all bytes: the download begins at zero.
  func reset() async throws
  /// The SHA-256 of what it holds, in 32 bytes. What was written is on its way to the disk no longer.
  func sha256() async throws -> Data
  /// All bytes are here: makes the file out of them.
  func finish() async throws
  /// The download broke off: keeps what it can and returns how many bytes, from the first on, a later try may rely on.
  func salvage() async -> Int64
  /// The bytes are of no use.
  func abandon() async
}

/// The representation that the bytes of a download belong to, as far as the server has said.
package struct DownloadRepresentation: Sendable, Equatable {
  /// The validator that tells it from later ones; nil when nothing does, so that it can't be continued.
  package var validator: ResumeValidator?
  /// Its length; nil when it is not known.
  package var total: Int64?

  package init(validator: ResumeValidator?, total: Int64?) {
    self.validator = validator
    self.total = total
  }

  /// Whether the server can be asked for the rest of it.
  package var canBeContinued: Bool { validator?.condition != nil }
}
