import HTTPSemantics
import Testing

@Suite struct ContentDispositionTests {
  @Test(
    arguments: [
      // RFC 6266 §5
      ("Attachment; filename=example.html", "attachment", "example.html"),
      (#"INLINE; FILENAME= "an example.html""#, "inline", "an example.html"),
      ("attachment; filename*= UTF-8''%e2%82%ac%20rates", "attachment", "€ rates"),
      (#"attachment; filename="EURO rates"; filename*=utf-8''%e2%82%ac%20rates"#, "attachment", "€ rates"),
      // RFC 8187
      ("attachment; filename*=iso-8859-1'en'%A3%20rates", "attachment", "£ rates"),
      ("attachment; filename*=UTF-8'de'it's.txt", "attachment", "it's.txt"),
      // the plain form where the extended one can't be read
      ("attachment; filename=a.txt; filename*=UTF-8''%FF%FE", "attachment", "a.txt"),
      ("attachment; filename=a.txt; filename*=utf-16''b.txt", "attachment", "a.txt"),
      ("attachment; filename=a.txt; filename*=b.txt", "attachment", "a.txt"),
      ("attachment; filename=a.txt; filename*=UTF-8''50%", "attachment", "a.txt"),
      // as sent
      ("attachment", "attachment", nil), ("", "", nil), ("filename=a.txt", "", "a.txt"),
      (#"attachment; filename="a \"b\".txt""#, "attachment", #"a "b".txt"#),
      ("attachment; filename=two words.txt; x=y", "attachment", "two words.txt"),
      (#"attachment; filename="semi;colon.txt""#, "attachment", "semi;colon.txt"),
      ("attachment; filename=\"naïve.txt\"", "attachment", "naïve.txt"),
      ("attachment;; filename=a.txt", "attachment", "a.txt"),
      ("attachment; filename=\"\"", "attachment", nil),
      // never a path
      (#"attachment; filename="../../etc/passwd""#, "attachment", "_.._etc_passwd"),
      (#"attachment; filename="C:\\dir\\a.txt""#, "attachment", "C:_dir_a.txt"),
      ("attachment; filename*=UTF-8''..%2F..%2Fa.txt", "attachment", "_.._a.txt"),
      ("attachment; filename*=UTF-8''a%00b%0D%0A.txt", "attachment", "ab.txt"),
      (#"attachment; filename="..""#, "attachment", nil),
      (#"attachment; filename=".bashrc""#, "attachment", "bashrc"),
    ] as [(String, String, String?)])
  func dispositionIsParsed(_ value: String, kind: String, filename: String?) {
    let disposition = ContentDisposition(parsing: value)
    #expect(disposition.kind == kind)
    #expect(disposition.filename == filename)
  }
}
