import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct URLEncodedFormTests {
  /// What could be taken for another field, for the end of a line, for an encoding or for the end of the text.
  static let injections = [
    "x&admin=1", "x=y", "1+1", "50%", "%26admin%3D1", "a\r\nX-Admin: 1", "a\nb", "a\0b", "a;b", "#end", "Zoë 日本 👩‍👧", " ",
    "",
  ]

  @Test(.overHTTP1To3) func whateverIsInAFieldTheServerReadsItThere() async throws {
    try await withServer({ .ok($0.target + "\n" + $0.body.text) }) { server in
      let session = URLSession(configuration: .loopback)
      for text in Self.injections {
        var form = URLEncodedForm()
        form.append("name", text)
        form.append(text, "value")
        form.append("last", "1")
        var parts = try #require(URLComponents(url: server.url("/form"), resolvingAgainstBaseURL: false))
        parts.setQuery(form)
        var request = URLRequest(url: try #require(parts.url))
        request.httpMethod = "POST"
        request.setBody(form)
        let (data, _) = try await session.data(for: request)
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 2 && lines.last.map(String.init) == form.encoded)
        #expect(lines.first.map(String.init) == "/form?" + form.encoded)
        #expect(URLEncodedForm(parsing: form.encoded) == form)
        #expect(parts.queryItems?.count == 3)
      }
      #expect(server.requests.allSatisfy { $0.value("Content-Type") == "application/x-www-form-urlencoded" })
      session.finishTasksAndInvalidate()
    }
  }

  @Test func literalsAndFieldsMakeTheSameForm() {
    let form: URLEncodedForm = ["name": "Jane Doe", "address": "123 Main St", "name": "again"]
    #expect(form.encoded == "name=Jane+Doe&address=123+Main+St&name=again")
    #expect(form.data == Data(form.encoded.utf8))
    #expect(form == URLEncodedForm(form.fields))
    #expect(URLEncodedForm().encoded.isEmpty && URLEncodedForm(parsing: "") == URLEncodedForm())
  }

  @Test func aFormWithoutFieldsTakesTheQueryAway() throws {
    var parts = try #require(URLComponents(string: "http://h/p?old=1#f"))
    parts.setQuery(["a": "+"])
    #expect(parts.string == "http://h/p?a=%2B#f")
    parts.setQuery(URLEncodedForm())
    #expect(parts.string == "http://h/p#f")
  }

  @Test func theMethodStaysAsItIs() throws {
    var request = URLRequest(url: try #require(URL(string: "http://h/")))
    request.httpMethod = "PUT"
    request.setBody(["a": "b"])
    #expect(request.httpMethod == "PUT" && request.httpBody == Data("a=b".utf8))
  }
}
