import HTTPTransport

extension FuzzTarget {
  /// What is read of a TLS handshake beside the library that speaks it, and of files with keys.
  static let handshakes = FuzzTarget("handshakes") { bytes in
    let hello = ServerHello.read(bytes)
    for count in stride(from: 0, to: bytes.count, by: 7) {
      let part = ServerHello.read(bytes.prefix(count))
      try require(part == .needsMore || part == hello, "\(part) of \(count) bytes; \(hello) of all")
    }
    let secret = [UInt8](repeating: 7, count: 32)
    let names = CertificateRequestReader.authorities(in: bytes, secret: nil)
    try require(names.reduce(0) { $0 + $1.count } <= bytes.count, "names out of nothing")
    _ = CertificateRequestReader.authorities(in: bytes, secret: secret)
    let contents = PKCS12Contents(bytes)
    try require(contents.isRecognized || contents.mayHaveIdentity, "what is not recognised is judged")
  }
}
