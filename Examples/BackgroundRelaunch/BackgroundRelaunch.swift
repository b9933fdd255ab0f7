import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows an app that hands a download over to the system and ends. When the file is there, the system starts the app
/// again, which makes the session anew and is told what happened. (URL Session Programming Guide, listings 1-8 and 1-9.)
///
///     EXAMPLES=1 swift run background-relaunch http://localhost:8080 /tmp/received
///
/// `swift build` before it, or `make install`: the transfer service `urlsessiond` does the loading.
///
/// The program ends at once; two seconds later the file is there, and `/tmp/received.log` tells what the second process
/// did.
@main
struct BackgroundRelaunch {
  static func main() async {
    #if canImport(FoundationNetworking)
    // Linux has no UIApplication. This returns true when the process was started for a session's events, and they are
    // handled.
    if await URLSessionApplication.shared.run(AppDelegate()) { return }
    #endif

    guard CommandLine.arguments.count == 3, let server = URL(string: CommandLine.arguments[1]),
      // A file of 4 MiB that takes two seconds.
      let source = URL(string: "file?size=4194304&rate=2097152", relativeTo: server.appendingPathComponent("/"))
    else {
      print("usage: background-relaunch SERVER FILE")
      exit(64)
    }
    let configuration = URLSessionConfiguration.background(withIdentifier: "example.relaunch")
    configuration.sessionSendsLaunchEvents = true
    let session = URLSession(configuration: configuration, delegate: SessionDelegate.shared, delegateQueue: nil)

    let task = session.downloadTask(with: source)
    // A task keeps its description, in whichever process it is seen.
    task.taskDescription = URL(fileURLWithPath: CommandLine.arguments[2]).path
    task.countOfBytesClientExpectsToReceive = 4_194_304
    task.resume()
    // An app on Apple's systems goes on with something else here. This one waits until the request is handed over.
    await session.flush()
    print("handed over: the app ends before its file is there")
  }
}
