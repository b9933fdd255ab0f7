import Foundation
import FoundationNetworking
import Harness

/// One large file, sent with PUT.
struct LargeUpload {
  let assignment: Assignment

  init(_ assignment: Assignment) { self.assignment = assignment }

  func fromFile() async throws {
    try await fromFile(in: .forMeasuring(assignment), URLRequest(url: assignment.url))
  }

  func fromFile(in session: URLSession, _ request: URLRequest) async throws {
    var request = request
    request.httpMethod = "PUT"
    let file = URL(fileURLWithPath: assignment.source)
    try await reportThroughput(of: assignment) {
      let (_, response) = try await session.upload(for: request, fromFile: file)
      let status = (response as? HTTPURLResponse)?.statusCode
      // The server says whether it has made the file (201) or replaced it (204).
      guard status == 201 || status == 204 else { fail("status \(status ?? 0) instead of 201") }
    }
  }
}
