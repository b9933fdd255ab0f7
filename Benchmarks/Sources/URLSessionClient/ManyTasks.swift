import Foundation
import FoundationNetworking
import Harness

/// All tasks of one session made, then all resumed, then all finished: an app that asks for everything at once.
struct ManyTasks {
  let assignment: Assignment

  init(_ assignment: Assignment) { self.assignment = assignment }

  func throughCompletionHandlers() async throws {
    let session = URLSession.forMeasuring(assignment)
    let remaining = Countdown(assignment.count)
    let urls = assignment.work == .scattered ? assignment.scatteredURLs : []
    try await reportRate(of: assignment) {
      await withCheckedContinuation { finished in
        remaining.whenOver { finished.resume() }
        let tasks = (0..<assignment.count).map { number in
          session.dataTask(with: urls.isEmpty ? assignment.url : urls[number]) { data, response, error in
            if let error { fail("\(error)") }
            verify(response, bytes: data?.count ?? 0, expected: assignment.bytes)
            remaining.countDown()
          }
        }
        for task in tasks { task.resume() }
      }
    }
  }
}
