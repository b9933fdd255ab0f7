import Testing

@testable import HTTPSemantics

@Suite struct FileEncodingTests {
  static let rows: [(type: String?, name: String, layers: [FileEncoding], decoded: String)] = [
    ("application/gzip", "a.txt.gz", [.gzip], "a.txt"), ("Application/X-GZip", "a", [.gzip], "a"),
    ("application/macbinary", "a.bin", [.macBinary], "a"), ("application/x-macbinary", "a.txt", [.macBinary], "a.txt"),
    ("application/mac-binhex40", "a.hqx", [.binHex], "a"), ("application/gzip", "a.hqx.gz", [.gzip, .binHex], "a"),
    ("application/gzip", "a.bin.gz", [.gzip, .macBinary], "a"), ("application/gzip", "a.tgz", [.gzip], "a.tar"),
    ("application/mac-binhex40", "a.bin.hqx", [.binHex, .macBinary], "a"),
    (nil, "a.gz", [.gzip], "a"), ("application/octet-stream", "a.hqx", [.binHex], "a"),
    ("application/octet-stream", "a.bin", [], "a.bin"), ("text/html", "a.gz", [], "a.gz"),
    ("text/plain", "a.hqx", [.binHex], "a"), ("application/octet-stream", "a", [], "a"), (nil, ".gz", [], ".gz"),
    ("application/gzip", "a.gz.gz.gz.gz.gz", [.gzip, .gzip, .gzip], "a.gz.gz"),
  ]

  @Test(arguments: rows.indices) func theLayersOfAFile(_ index: Int) {
    let row = Self.rows[index]
    let layers = FileEncoding.layers(mediaType: row.type, filename: row.name)
    #expect(layers == row.layers)
    #expect(layers.reduce(row.name) { $1.decodedName($0) } == row.decoded)
  }
}
