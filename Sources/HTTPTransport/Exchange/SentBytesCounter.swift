import NIOCore

/// Counts the bytes that a connection has sent.
package struct SentBytesCounter: Sendable {
  /// Tells it from others.
  private let name: String
  private let count: @Sendable (any Channel) -> SentBytes?

  package init(name: String, count: @escaping @Sendable (any Channel) -> SentBytes?) {
    (self.name, self.count) = (name, count)
  }

  /// Asks the kernel.
  package static let system = SentBytesCounter(name: "system") { SentBytes.of($0) }

  /// nil where they can't be counted. On the channel's loop.
  package func callAsFunction(_ channel: any Channel) -> SentBytes? { count(channel) }
}
