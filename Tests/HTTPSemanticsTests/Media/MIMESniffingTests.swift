import HTTPSemantics
import Testing

@Suite struct MIMESniffingTests {
  @Test(arguments: [
    ("", "text/plain"), ("plain words", "text/plain"), ("\u{feff}with a mark", "text/plain"),
    ("  \n<!doctype html><p>", "text/html"), ("<html lang=en>", "text/html"), ("<HTML>", "text/html"),
    ("<htmlx>", "text/plain"), ("<!--x-->", "text/html"), ("<b>bold", "text/html"), ("<bold>", "text/plain"),
    ("<?xml version=\"1.0\"?>", "text/xml"), ("%PDF-1.7", "application/pdf"), (" %PDF-1.7", "text/plain"),
    ("GIF89a...", "image/gif"), ("RIFF1234WEBPVP8 ", "image/webp"), ("RIFF1234WAVEfmt", "audio/wave"),
    ("0000ftypmp42", "video/mp4"), ("0000ftypavif", "image/avif"), ("PK\u{3}\u{4}rest", "application/zip"),
    ("{\"json\": true}", "text/plain"), ("a\u{0}b", "application/octet-stream"),
    ("escape \u{1b}[0m", "text/plain"),
  ])
  func textSignaturesAreRecognised(_ content: String, _ type: String) {
    #expect(MIMESniffing.mediaType(of: content.utf8) == type)
  }

  @Test(
    arguments: [
      ([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"), ([0xff, 0xd8, 0xff, 0xe0], "image/jpeg"),
      ([0x1f, 0x8b, 0x08], "application/x-gzip"), ([0x00, 0x61, 0x73, 0x6d], "application/wasm"),
      ([0xfe, 0xff, 0x00, 0x41], "text/plain"), ([0x01, 0x02], "application/octet-stream"),
    ] as [([UInt8], String)])
  func binarySignaturesAreRecognised(_ content: [UInt8], _ type: String) {
    #expect(MIMESniffing.mediaType(of: content) == type)
  }

  /// Only the beginning is looked at.
  @Test func bytesBeyondTheLimitAreIgnored() {
    let content = [UInt8](repeating: 0x61, count: MIMESniffing.headerLength) + [0]
    #expect(MIMESniffing.mediaType(of: content) == "text/plain")
  }
}
