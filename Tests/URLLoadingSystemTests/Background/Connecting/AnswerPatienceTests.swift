import NIOCore
import Testing

@testable import URLLoadingSystem

@Suite struct AnswerPatienceTests {
  enum Step {
    case sent
    case received(awaitsMore: Bool)
    /// What is due then.
    case expect(AnswerPatience.Action)
  }

  static let courses: [(name: String, steps: [(second: Int64, step: Step)])] = [
    ("no request", [(100, .expect(.nothing))]),
    (
      "no answer",
      [(0, .sent), (14, .expect(.nothing)), (15, .expect(.probe)), (29, .expect(.nothing)), (30, .expect(.giveUp))]
    ),
    (
      "further requests gain no time",
      [(0, .sent), (10, .sent), (15, .expect(.probe)), (20, .sent), (30, .expect(.giveUp))]
    ),
    ("an answer", [(0, .sent), (14, .received(awaitsMore: false)), (100, .expect(.nothing))]),
    (
      "an answer to the probe alone",
      [
        (0, .sent), (15, .expect(.probe)), (16, .received(awaitsMore: true)), (30, .expect(.nothing)),
        (31, .expect(.probe)), (46, .expect(.giveUp)),
      ]
    ),
    (
      "this process was stopped",
      [(0, .sent), (500, .expect(.probe)), (514, .expect(.nothing)), (515, .expect(.giveUp))]
    ),
  ]

  @Test(arguments: courses.indices) func decides(_ index: Int) {
    let course = Self.courses[index]
    var patience = AnswerPatience(limit: .seconds(30))
    let start = NIODeadline.uptimeNanoseconds(1_000)
    for (second, step) in course.steps {
      let now = start + .seconds(second)
      switch step {
      case .sent: patience.sentRequest(at: now)
      case .received(let awaitsMore): patience.receivedMessage(awaitsMore: awaitsMore, at: now)
      case .expect(let action): #expect(patience.timePassed(at: now) == action, "\(course.name), \(second) s")
      }
    }
  }
}
