/// How long the service keeps folders of files that it has set aside, as `urlsession doctor` and the manual page say
/// (Docs/Decisions/0142-what-is-kept-for-how-long.md).
package enum RemainsLimits {
  /// A folder goes so many days after the date in its name.
  package static let days = 30
  /// Of all of them together. The oldest go first; those of the last day stay.
  package static let gibibytes = 8
}
