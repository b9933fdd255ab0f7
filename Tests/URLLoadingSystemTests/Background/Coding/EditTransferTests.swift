import Foundation
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// The change from one request of a task to another.
@Suite struct EditTransferTests {
  private static let former: URLRequest = {
    var request = URLRequest(url: URL(string: "http://h/f?sign=1") ?? URL(fileURLWithPath: "/"))
    request.setValue("old", forHTTPHeaderField: "Authorization")
    request.setValue("a/b", forHTTPHeaderField: "Accept")
    return request
  }()

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let change: @Sendable (inout URLRequest) -> Void
    let edit: @Sendable (inout EditTransfer) -> Void
  }

  static let rows = [
    Row(testDescription: "nothing", change: { _ in }, edit: { _ in }),
    Row(
      testDescription: "a field, which is said with all others",
      change: { $0.setValue("new", forHTTPHeaderField: "authorization") },
      edit: { $0.fields = [HeaderField("Authorization", "new"), HeaderField("Accept", "a/b")] }),
    Row(
      testDescription: "a field more", change: { $0.setValue("1", forHTTPHeaderField: "X-New") },
      edit: {
        $0.fields = [HeaderField("Authorization", "old"), HeaderField("Accept", "a/b"), HeaderField("X-New", "1")]
      }),
    Row(
      testDescription: "a field less", change: { $0.setValue(nil, forHTTPHeaderField: "Accept") },
      edit: {
        $0.fields = [HeaderField("Authorization", "old")]
        $0.removedFields = ["accept"]
      }),
    Row(
      testDescription: "another URL, which gets all fields", change: { $0.url = URL(string: "https://other/f") },
      edit: {
        $0.url = "https://other/f"
        $0.fields = [HeaderField("Authorization", "old"), HeaderField("Accept", "a/b")]
      }),
    Row(
      testDescription: "networks",
      change: {
        $0.allowsCellularAccess = false
        $0.allowsConstrainedNetworkAccess = false
      },
      edit: {
        $0.allowsCellularAccess = false
        $0.allowsConstrainedNetworkAccess = false
      }),
  ]

  @Test(arguments: rows) func differencesBecomeAnEdit(row: Row) throws {
    var new = Self.former
    row.change(&new)
    var expected = EditTransfer(transfer: 0)
    row.edit(&expected)
    var edit = try EditTransfer(from: Self.former, to: new, isUpload: false)
    if let fields = edit.fields, var sorted = expected.fields {
      // The spelling of a name, and the order, are the request's.
      sorted.sort { $0.name.lowercased() < $1.name.lowercased() }
      #expect(fields.map { $0.name.lowercased() }.sorted() == sorted.map { $0.name.lowercased() })
      #expect(Set(fields.map(\.value)) == Set(sorted.map(\.value)))
      (edit.fields, expected.fields) = (nil, nil)
    }
    #expect(edit == expected)
  }

  static let refused: [(@Sendable (inout URLRequest) -> Void, String)] = [
    ({ $0.httpMethod = "POST" }, "method"), ({ $0.httpBody = Data([1]) }, "body"),
    ({ $0.httpBodyStream = InputStream(data: Data([1])) }, "body stream"),
    ({ $0.timeoutInterval = 5 }, "Only the URL"), ({ $0.url = URL(fileURLWithPath: "/etc/passwd") }, "http and https"),
    ({ $0.url = nil }, "http and https"),
  ]

  @Test(arguments: refused.indices) func whatCanNotBeReplacedIsSaid(_ row: Int) {
    let (change, text) = Self.refused[row]
    var new = Self.former
    change(&new)
    let error = #expect(throws: RequestReplacementError.self) {
      _ = try EditTransfer(from: Self.former, to: new, isUpload: false)
    }
    #expect(error?.kind == .notReplaceable && error?.sentence.contains(text) == true, "\(error?.sentence ?? "")")
  }

  /// The body of an upload is its file, whatever its request has.
  @Test func theBodyOfAnUploadsRequestDoesNotCount() throws {
    var new = Self.former
    new.httpBody = Data([1])
    #expect(try EditTransfer(from: Self.former, to: new, isUpload: true) == EditTransfer(transfer: 0))
  }
}
