import HTTPSemantics
import Testing

@Suite struct ContentCodingsTests {
  @Test(
    arguments: [
      ([], [], []), (["gzip"], [.gzip], [.gzip]), (["X-GZip"], [.gzip], [.gzip]),
      (["deflate, gzip"], [.deflate, .gzip], [.gzip, .deflate]),
      (["deflate", " br "], [.deflate, .brotli], [.brotli, .deflate]), (["identity"], [.identity], []),
      (["gzip,, identity ,zstd"], [.gzip, .identity, .zstd], [.zstd, .gzip]), ([""], [], []), ([" , "], [], []),
      (["Compress"], [.unknown("compress")], [.unknown("compress")]),
    ] as [([String], [ContentCoding], [ContentCoding])])
  func codingsAreListedInOrder(_ values: [String], applied: [ContentCoding], decoding: [ContentCoding]) {
    let codings = ContentCodings(values: values)
    #expect(codings.applied == applied)
    #expect(codings.decodingOrder == decoding)
    #expect(codings.isIdentity == decoding.isEmpty)
  }

  @Test func fieldsAreReadInOrder() {
    let fields: HTTPFields = ["Content-Encoding": "gzip", "X": "zstd", "content-encoding": "br"]
    #expect(ContentCodings(fields: fields).applied == [.gzip, .brotli])
  }
}
