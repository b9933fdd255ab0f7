import HTTPSemantics
import Testing

@Suite struct RequestUrgencyTests {
  @Test(
    arguments: [
      (0.5, nil), (1, "u=0"), (0.75, "u=1"), (0.6, "u=2"), (0.25, "u=5"), (0, "u=6"), (9, "u=0"), (-1, "u=6"),
      (0.51, nil),
      (.nan, nil),
    ] as [(Float, String?)])
  func priorityMapsToUrgency(_ priority: Float, _ expected: String?) {
    #expect(RequestUrgency.field(priority: priority) == expected)
  }

  @Test(arguments: [
    ("u=1", 1, false), ("u=5, i", 5, true), ("i", 3, true), ("", 3, false), ("u=9", 3, false), ("u=x, i", 3, true),
  ])
  func fieldsAreRead(_ value: String, _ urgency: Int, _ isIncremental: Bool) {
    let read = RequestUrgency.read(value)
    #expect(read.urgency == urgency && read.isIncremental == isIncremental)
  }
}
