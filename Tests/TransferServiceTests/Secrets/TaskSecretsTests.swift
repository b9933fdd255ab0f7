import Foundation
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Secrets that are taken out of a task before the queue has it, and put back before it runs.
@Suite struct TaskSecretsTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var headers: [HeaderField]
    /// The fields that the queue has.
    var left: [HeaderField]

    var testDescription: String { headers.map(\.name).joined(separator: ", ") }
  }

  private static let (a, b) = (HeaderField("X-A", "1"), HeaderField("X-B", "2"))
  private static let authorization = HeaderField("Authorization", "Bearer t")
  private static let cookie = HeaderField("cookie", "sid=1")
  private static let proxy = HeaderField("PROXY-authorization", "Basic YQ==")

  static let rows = [
    Row(headers: [], left: []), Row(headers: [a, b], left: [a, b]), Row(headers: [authorization], left: []),
    Row(headers: [authorization, a, cookie, proxy, b], left: [a, b]),
    Row(headers: [a, cookie, b, cookie], left: [a, b]),
    Row(
      headers: [HeaderField("Authorization-Info", "x"), HeaderField("Set-Cookie", "y")],
      left: [HeaderField("Authorization-Info", "x"), HeaderField("Set-Cookie", "y")]),
    // An empty value is one that the app has set.
    Row(headers: [HeaderField("Authorization", ""), a], left: [a]),
  ]

  @Test(arguments: rows) func fieldsAreTakenAndPutBackInTheirPlaces(_ row: Row) throws {
    var task = TransferDescription.download("http://ann:pass@h/", headers: row.headers)
    let secrets = TaskSecrets(takenFrom: &task)
    #expect(task.request.headers == row.left && task.request.url == "http://ann@h/" && secrets.password == "pass")
    let names = row.headers.filter(\.isSecret).map(\.name)
    #expect(task.sealedFields == (names.isEmpty ? nil : names))
    let read = try #require(TaskSecrets(secrets.encoded()))
    #expect(read == secrets && read.restored(task.request.headers) == row.headers)
  }

  @Test func aTaskWithoutSecretsHasNone() {
    var task = TransferDescription.download("http://ann@h/", headers: [Self.a])
    task.sealedFields = ["Cookie"]
    #expect(TaskSecrets(takenFrom: &task).isEmpty)
    #expect(task.sealedFields == nil)
  }

  @Test func optionsNameTheFieldsThatTheyAreWithout() {
    var options = SessionOptions()
    options.httpAdditionalHeaders = [Self.a, Self.authorization, Self.b]
    let plain = options.withoutSecrets
    #expect(plain.httpAdditionalHeaders == [Self.a, Self.b] && plain.sealedFields == ["Authorization"])
    #expect(plain.withoutSecrets == plain)
    options.httpAdditionalHeaders = [Self.a]
    #expect(options.withoutSecrets == options)
  }
}
