import NIOCore

/// A body that is already there: `data:` URLs, answers that a stage makes.
package final class BufferedBody: BodySource {
  private var rest: ByteBuffer?

  package init(_ bytes: ByteBuffer?) { rest = bytes.flatMap { $0.readableBytes > 0 ? $0 : nil } }

  package func take() -> BodyPart {
    guard let bytes = rest else { return .end }
    rest = nil
    return .bytes(bytes)
  }

  package func whenReadable(_ action: @escaping () -> Void) { action() }

  package func discard() { rest = nil }

  package func abort(_ error: any Error) { rest = nil }
}
