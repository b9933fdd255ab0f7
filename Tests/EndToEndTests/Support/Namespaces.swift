import ChildProcess
import Foundation

/// What a test needs of the kernel to run programs in namespaces of their own, by way of util-linux.
///
/// Where that is not permitted, as in most containers, a test is skipped, also in continuous integration: no package that
/// is installed would change it.
enum Namespaces {
  /// A command that runs a program where the machine seems to have started anew.
  static func otherStart(of home: Home, name: String) throws -> [String] {
    let file = "\(home.path)/boot-\(name)"
    try Data("\(UUID().uuidString.lowercased())\n".utf8).write(to: URL(fileURLWithPath: file))
    return unshare + ["--mount", "/bin/sh", "-c", bootScript, "sh", file]
  }

  /// A command that runs a program as its child where the machine has been on for so much longer.
  static func later(by seconds: Int) -> [String] {
    unshare + ["--time", "--boottime", "\(seconds)", "--fork", "--kill-child"]
  }

  /// A command that runs a program where the kernel has no watchers of files left.
  static let withoutWatchers =
    unshare + ["/bin/sh", "-c", "echo 0 >/proc/sys/user/max_inotify_instances || exit 1; exec \"$@\"", "sh"]

  /// Why the commands of the others don't work here; nil where they do.
  static let obstacleToMissingWatchers = obstacle("the number of watchers can't be limited", withoutWatchers)
  static let obstacleToOtherStarts = obstacle(
    "a file can't be put over boot_id", unshare + ["--mount", "/bin/sh", "-c", bootScript, "sh", "/dev/null"])
  static let obstacleToLaterTimes = obstacle("time namespaces are not permitted", later(by: 1))
  static let obstacleToDisks = obstacle(
    "a file system of its own can't be mounted",
    unshare + ["--mount", "/bin/sh", "-c", "mount -t tmpfs none /mnt && exec \"$@\"", "sh"])
  /// `ip` takes a name without the word before it for the beginning of an option.
  static let obstacleToCables = obstacle(
    "network namespaces with cables are not permitted",
    unshare + ["--net", "/usr/bin/env", "PATH=/usr/sbin:/sbin", "ip"]
      + ["link", "add", "name", "near", "type", "veth", "peer", "name", "far"])

  /// As `NetworkLink` has them.
  static let obstacleToLinks = obstacle(
    "network namespaces with TUN devices are not permitted",
    unshare + ["--net", "/bin/sh", "-c", linkScript, "sh"])

  /// A user namespace of its own makes the program root there.
  static let unshare = ["/usr/bin/unshare", "--map-root-user"]
  private static let bootScript = """
    mount --bind "$1" /proc/sys/kernel/random/boot_id || exit 1
    shift
    exec "$@"
    """

  private static let linkScript = """
    PATH=$PATH:/usr/sbin:/sbin
    ip tuntap add dev far0 mode tun && ip link set far0 up && ip route replace 192.0.2.1 dev far0 congctl cubic || exit 1
    exec "$@"
    """

  private static func obstacle(_ sentence: String, _ place: [String]) -> String? {
    let needsProgram = !place.contains("ip")
    guard let run = try? runNow(place + (needsProgram ? ["/bin/true"] : [])) else {
      return "\(sentence): \(place[0]) is missing"
    }
    return run.status == 0 ? nil : "\(sentence) here: \(run.errors.trimmingCharacters(in: .whitespacesAndNewlines))"
  }

  /// Runs a command to its end.
  @discardableResult
  static func runNow(_ words: [String]) throws -> (status: Int32, errors: String) {
    let process = ChildProcess()
    let errors = Pipe()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }
}
