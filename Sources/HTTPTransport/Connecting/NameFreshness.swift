/// How new an answer about a name must be.
package enum NameFreshness: Sendable {
  /// It must come from the name servers now.
  case asked
  /// It may be one that is kept and within its time.
  case current
  /// It may be past its time; a new one is asked for then, for later.
  case stale
}
