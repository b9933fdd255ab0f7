import Foundation

/// A program of this package, which was built together with the tests.
package enum BuiltProgram {
  /// The path of the program `name`.
  package static func path(_ name: String) -> String {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    // A helper of the toolchain's may be what runs; then an argument in a build folder tells.
    let folder = ([own] + CommandLine.arguments).map { ($0 as NSString).deletingLastPathComponent }
      .first { FileManager.default.isExecutableFile(atPath: $0 + "/" + name) }
    return (folder ?? ".") + "/" + name
  }
}
