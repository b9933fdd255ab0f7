import Foundation

/// The place where `get` puts the body.
enum OutputTarget: Sendable, Equatable {
  /// Written as it arrives: standard output, or a device or pipe that `-o` names.
  case stream(descriptor: Int32, name: String)
  case destination(Destination)

  /// The options of which two name the same file, as `-o and --har`; nil where each has its own. Standard output and special
  /// files may be named again.
  static func namedTwice(_ options: [(name: String, path: String?)]) -> String? {
    var names: [String: String] = [:]
    for case (let name, let path?) in options where path != "-" && !Destination.isSpecialFile(path) {
      let absolute = (try? CommandPath.absolute(path)) ?? path
      let file = URL(fileURLWithPath: absolute).resolvingSymlinksInPath().path
      if let earlier = names.updateValue(name, forKey: file) { return "\(earlier) and \(name)" }
    }
    return nil
  }

  /// - Parameter argument: What `-o` was given; nil without.
  init(_ argument: String?) throws {
    guard let argument, argument != "-" else {
      self = .stream(descriptor: STDOUT_FILENO, name: "standard output")
      return
    }
    if Destination.isSpecialFile(argument) {
      let descriptor = open(argument, O_WRONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw CommandFailure.cannotWrite(argument, String(cString: strerror(errno))) }
      self = .stream(descriptor: descriptor, name: argument)
    } else {
      self = .destination(try Destination(argument: argument))
    }
  }
}
