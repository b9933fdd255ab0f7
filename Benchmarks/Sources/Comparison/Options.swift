import Foundation

/// The command line of the comparison; Scripts/bench fills it in.
struct Options {
  var directory = "."
  var scratch = NSTemporaryDirectory()
  var httpURL = ""
  var httpsURL = ""
  /// A listener that speaks HTTP/2, and refuses what comes in another version.
  var http2URL = ""
  /// A server of HTTP/3, the same one of HTTP/2 at a port where it announces no HTTP/3, and one of HTTP/3 that serves one
  /// request a connection and takes early data.
  var quicURL = ""
  var besideQUICURL = ""
  var oneRequestQUICURL = ""
  /// An HTTP proxy, and a listener that refuses what did not come through it.
  var proxyURL = ""
  var proxiedURL = ""
  /// Listeners that end each connection after one response, without and with sessions of TLS that go on.
  var fullURL = ""
  var resumedURL = ""
  /// A listener on all addresses of the loopback network.
  var scatteredURL = ""
  /// The program that starts others at the client's end of the link, and the same servers at the other end, with one of HTTP/2
  /// that serves one request a connection. Empty where there is no link.
  var link = ""
  var linkURL = ""
  var linkBesideURL = ""
  var linkOneRequestURL = ""
  var linkOneRequestBesideURL = ""
  var linkBytes = 8 << 20
  var certificateAuthority = ""
  var smallBytes = 1024
  var largeBytes = 1 << 30
  var hugeBytes = 4 << 30
  /// The folder of the files that the server has.
  var files = ""
  /// A folder on a disk, for the files of the service, that is made and removed with each run.
  var disk = NSTemporaryDirectory() + "/disk"
  var rounds = 5
  var seconds = 1.5
  /// Only comparisons whose name contains one of these; all when empty.
  var only: [String] = []
  var json: String?

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else { throw ComparisonError("\(name) needs a value") }
      switch name {
      case "--directory": directory = value
      case "--scratch": scratch = value
      case "--http": httpURL = value
      case "--https": httpsURL = value
      case "--http2": http2URL = value
      case "--quic": quicURL = value
      case "--quic-beside": besideQUICURL = value
      case "--link": link = value
      case "--link-quic": linkURL = value
      case "--link-beside": linkBesideURL = value
      case "--link-one": linkOneRequestURL = value
      case "--link-one-beside": linkOneRequestBesideURL = value
      case "--link-bytes": linkBytes = try number(value, for: name)
      case "--quic-one": oneRequestQUICURL = value
      case "--proxy": proxyURL = value
      case "--proxied": proxiedURL = value
      case "--full": fullURL = value
      case "--resumed": resumedURL = value
      case "--scattered": scatteredURL = value
      case "--ca": certificateAuthority = value
      case "--small-bytes": smallBytes = try number(value, for: name)
      case "--large-bytes": largeBytes = try number(value, for: name)
      case "--huge-bytes": hugeBytes = try number(value, for: name)
      case "--files": files = value
      case "--disk": disk = value
      case "--rounds": rounds = try number(value, for: name)
      case "--seconds": seconds = try Double(value) ?? number(value, for: name)
      case "--only": only = value.split(separator: ",").map(String.init)
      case "--json": json = value.isEmpty ? nil : value
      default: throw ComparisonError("what is \(name)?")
      }
    }
  }
}

private func number<Number: LosslessStringConvertible & Comparable & ExpressibleByIntegerLiteral>(
  _ text: String, for name: String
) throws -> Number {
  guard let number = Number(text), number > 0 else { throw ComparisonError("\(name) needs a positive number") }
  return number
}

struct ComparisonError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}
