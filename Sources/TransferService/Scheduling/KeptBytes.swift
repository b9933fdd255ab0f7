/// How many bytes of a download a later try can go on with, and whether they are enough to count as progress.
///
/// Only bytes that are new and that stay count: a server that always cuts, or that sends the same bytes again and again,
/// is asked ever more rarely. A little more at each try adds up until it is enough.
package struct KeptBytes: Sendable, Equatable {
  /// From the first byte on; 0 where nothing proves later that they belong to the resource.
  package var count: Int64
  /// The length of the whole; nil when it is not known.
  package var total: Int64?

  package init(_ count: Int64, of total: Int64? = nil) {
    self.count = count
    self.total = total
  }

  /// So many new bytes are always enough.
  package static let enough: Int64 = 256 << 10

  /// Whether they are progress for a download of which `counted` bytes have counted before: half of what was missing is
  /// enough too, so that small files come to an end after a few tries.
  package func areProgress(beyond counted: Int64) -> Bool {
    let new = count - counted
    guard new > 0 else { return false }
    if new >= Self.enough { return true }
    guard let total, total > counted else { return false }
    return new >= total - counted - new
  }
}
