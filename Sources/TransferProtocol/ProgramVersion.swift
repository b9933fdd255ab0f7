/// The version of the release that the programs are from, the only place where it is written: Scripts/release sets it, and
/// the names of tags, archives and packages follow.
package enum ProgramVersion {
  package static let current = "0.1.0"
}
