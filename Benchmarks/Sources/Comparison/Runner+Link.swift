extension Runner {
  /// Loads over the link are slow, and differ more from each other: they are counted for longer.
  func linkArguments(_ load: Run.LinkLoad, _ mode: String) -> [String] {
    let small = ["--mode", mode, "--warmup", "2", "--seconds", "10", "--bytes", "\(options.smallBytes)"]
    let large = ["--mode", mode, "--bytes", "\(options.linkBytes)"]
    let arguments =
      switch load {
      case .streams(let wire, let concurrent):
        ["small"] + small + ["--connections", "\(concurrent)", "--url", linkURL(for: wire) + "/small"]
          + version(of: wire)
      case .download(let wire):
        ["large"] + large + ["--directory", options.scratch, "--url", linkURL(for: wire) + "/linked"]
          + version(of: wire)
      case .upload(let wire):
        ["upload"] + large + ["--source", "\(options.files)/linked", "--url", linkURL(for: wire) + "/uploads/linked"]
          + version(of: wire)
      case .firstBytes:
        ["first"] + small + ["--url", options.linkOneRequestURL + "/small"] + version(of: .h3)
          + ["--beside", options.linkOneRequestBesideURL + "/small"]
      }
    return arguments + ["--ca", options.certificateAuthority]
  }

  private func linkURL(for wire: Run.Wire) -> String {
    wire == .h3 ? options.linkURL : options.linkBesideURL
  }
}
