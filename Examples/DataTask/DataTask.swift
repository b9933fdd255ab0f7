import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a data task whose delegate gets the body piece by piece, in the order in which a session calls its delegate.
/// (URL Session Programming Guide, listing 1-5.)
///
///     EXAMPLES=1 swift run data-task http://localhost:8080
@main
struct DataTask {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: data-task SERVER")
      exit(64)
    }
    let delegate = DataTaskDelegate()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    let dataTask = session.dataTask(with: server.appendingPathComponent("text"))
    dataTask.resume()

    // A session holds on to its delegate until it is invalidated.
    session.finishTasksAndInvalidate()
    let data = await delegate.waitForTheSession()
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
    print("\(lines.count) lines, from \(lines.first ?? "") to \(lines.last ?? "")")
    exit(lines.count == 4096 ? 0 : 1)
  }
}
