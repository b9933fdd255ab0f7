/// Our own HTTP/3 beside our own HTTP/2 over a link with a delay and loss.
extension Plan {
  static let linkGroups = [linkStreams(100), linkDownload, linkUpload, linkFirstBytes]

  private static func linkStreams(_ concurrent: Int) -> Group {
    besideH2("h3-link-\(concurrent)", mode: "async") { .streams($0, concurrent: concurrent) }
  }

  private static let linkDownload = besideH2("h3-link-download", mode: "memory") { .download($0) }
  private static let linkUpload = besideH2("h3-link-upload", mode: "file") { .upload($0) }

  private static func besideH2(_ name: String, mode: String, _ load: (Run.Wire) -> Run.LinkLoad) -> Group {
    func run(_ wire: Run.Wire) -> Run { Run(client: .ours, load: .overLink(load(wire)), mode: mode) }
    return Group(name: name, comparisons: [Comparison(name: name, ours: run(.h3), peer: run(.h2BesideH3))])
  }

  /// All in one process, in turn. The handshakes of HTTP/2 are resumed as well.
  private static let linkFirstBytes: Group = {
    let name = "h3-link-first-byte"
    let run = Run(client: .ours, load: .overLink(.firstBytes), mode: "async")
    return Group(
      name: name,
      comparisons: ["early", "resumed"].map { figure in
        Comparison(name: "\(name) \(figure)", ours: run, peer: run, quantity: .time(figure, beside: "h2"))
      })
  }()
}
