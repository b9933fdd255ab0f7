import HTTPSemantics
import Testing

@Suite struct FTPReplyValuesTests {
  private func reply(_ code: Int, _ text: String) -> FTPReply { FTPReply(code: code, lines: [Array(text.utf8)]) }

  @Test(
    arguments: [
      (213, "19700101000000", 0), (213, "20200102030405", 1_577_934_245), (213, "20200102030405.123", 1_577_934_245),
      (213, " 20200102030405 ", 1_577_934_245), (213, "20200230000000", nil), (213, "2020010203040", nil),
      (213, "191200102030405", nil), (213, "", nil), (213, "tomorrow", nil), (550, "20200102030405", nil),
    ] as [(Int, String, Int64?)])
  func datesAreRead(_ code: Int, _ text: String, _ seconds: Int64?) {
    #expect(reply(code, text).date == seconds)
  }

  @Test func commandsOfTransfersAreOneLineEach() throws {
    let resource = try FTPResource(parsing: "ftps://h/pub/a%20b")
    let commands = [
      resource.storage, resource.appending, try #require(resource.date), .restart(at: 17), .beginTLS, .protectionBuffer,
      .protectData, resource.facts,
    ]
    let lines = commands.map { String(decoding: $0.line ?? [], as: UTF8.self) }
    #expect(
      lines == [
        "STOR a b\r\n", "APPE a b\r\n", "MDTM a b\r\n", "REST 17\r\n", "AUTH TLS\r\n", "PBSZ 0\r\n", "PROT P\r\n",
        "MLSD\r\n",
      ])
    #expect(try FTPResource(parsing: "ftp://h/pub/").date == nil)
  }

  @Test(
    arguments: [
      (502, .protection, "unprotected"), (530, .protection, "unprotected"), (552, .storage, "aborted"),
      (553, .storage, "forbidden"),
      (550, .storage, "forbidden"), (500, .storage, "unsuitable"), (530, .storage, "notLoggedIn"),
      (452, .storage, "aborted"), (550, .name, "notFound"),
    ] as [(Int, FTPFailure.Question, String)])
  func repliesThatAreNoSuccessMean(_ code: Int, _ question: FTPFailure.Question, _ name: String) {
    #expect("\(FTPFailure(reply(code, "no"), to: question))".hasPrefix(name))
  }
}
