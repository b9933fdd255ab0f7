import HTTPSemantics
import Testing

@Suite struct SuggestedFilenameTests {
  @Test(
    arguments: [
      // Content-Disposition first
      ("attachment; filename=a.bin", "/b.txt", "h.org", "text/html", "a.bin"),
      ("attachment; filename=a", "/b.txt", "h.org", "text/html", "a.html"),
      ("attachment", "/b.txt", "h.org", nil, "b.txt"),
      // then the path
      (nil, "/dir/b.tar.gz", "h.org", "application/gzip", "b.tar.gz"),
      (nil, "/dir/", "h.org", "text/plain", "dir.txt"),
      (nil, "/a%20b%C3%A9", "h.org", "application/json; charset=utf-8", "a bé.json"),
      (nil, "/a%2Fb.txt", "h.org", nil, "a_b.txt"),
      (nil, "/%FF.txt", "h.org", nil, "%FF.txt"),
      (nil, "/notes-1.2", "h.org", "text/html", "notes-1.2.html"),
      (nil, "/movie.mp4", "h.org", "text/html", "movie.mp4"),
      (nil, "/data", "h.org", "application/octet-stream", "data"),
      (nil, "/data", "h.org", "x/y", "data"),
      (nil, "/data", "h.org", "nonsense", "data"),
      // then the host, whose last label is not an extension
      (nil, "/", "h.org", "text/html", "h.org.html"),
      (nil, "", "h.org", nil, "h.org"),
      (nil, "/..", "h.org", nil, "h.org"),
      // then nothing
      (nil, "", nil, nil, "unknown"),
      (nil, "/", "", "text/html", "unknown.html"),
    ] as [(String?, String, String?, String?, String)])
  func chooses(disposition: String?, path: String, host: String?, type: String?, name: String) {
    #expect(
      SuggestedFilename.choose(contentDisposition: disposition, path: path, host: host, mediaType: type) == name)
  }

  /// Whether it comes from the path or from the host.
  @Test(arguments: [true, false]) func aFullLengthNameStaysWithinTheLimit(isPath: Bool) {
    let long = String(repeating: "x", count: 255)
    let name = SuggestedFilename.choose(
      contentDisposition: nil, path: isPath ? "/" + long : "/", host: isPath ? nil : long, mediaType: "text/html")
    #expect(name.utf8.count == 255)
    #expect(name.hasSuffix("x.html"))
  }
}
