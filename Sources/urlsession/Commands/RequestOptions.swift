import ArgumentParser
import Foundation
import TransferProtocol
import URLLoadingSystem

/// The options about the request that both ways of loading have.
struct RequestOptions: ParsableArguments {
  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: ArgumentHelp("A header field of the request; may be given several times.", valueName: "Name: value"))
  var headers: [HeaderArgument] = []

  func request(for url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    for header in headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
    RequestOptions.addUsualFields(to: &request)
    return request
  }

  /// The request without options.
  static func plainRequest(for url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    addUsualFields(to: &request)
    return request
  }

  private static func addUsualFields(to request: inout URLRequest) {
    // Said here rather than left to the library, so that -v shows what is sent.
    for (name, value) in [("User-Agent", "urlsession/\(ProgramVersion.current)"), ("Accept", "*/*")]
    where request.value(forHTTPHeaderField: name) == nil { request.setValue(value, forHTTPHeaderField: name) }
  }
}
