import Testing

@testable import TransferService

@Suite struct CopyLineTests {
  private func line(_ limits: CopyLine<Int>.Limits = .init(ofMount: 2, ofApp: 3, all: 5)) -> CopyLine<Int> {
    CopyLine(limits: limits)
  }

  private func start(_ line: inout CopyLine<Int>) -> [Int] {
    var started: [Int] = []
    while let next = line.next() { started.append(next.job) }
    return started
  }

  /// A mount that hangs keeps its copies for ever.
  @Test func othersPassThoseOfAMountThatHangs() {
    var line = line()
    for job in 1...4 { line.add(job, at: .init(app: "a", mount: 1)) }
    line.add(5, at: .init(app: "a", mount: 2))
    line.add(6, at: .init(app: "b", mount: 1))
    #expect(start(&line) == [1, 2, 5, 6])
    line.ended(at: .init(app: "a", mount: 2))
    #expect(start(&line) == [], "its mount is still full")
    line.ended(at: .init(app: "a", mount: 1))
    #expect(start(&line) == [3])
  }

  @Test func anAppHasItsPlacesHoweverManyMountsItHas() {
    var line = line()
    for job in 1...5 { line.add(job, at: .init(app: "a", mount: job)) }
    line.add(6, at: .init(app: "b", mount: nil))
    #expect(start(&line) == [1, 2, 3, 6])
  }

  @Test func workThatAProcessWaitsForPassesTheRest() {
    var line = line(.init(ofMount: 1, ofApp: 1, all: 5))
    for job in 1...3 { line.add(job, at: .init(app: "a")) }
    #expect(start(&line) == [1])
    line.addFirst(4, at: .init(app: "a"))
    line.ended(at: .init(app: "a"))
    #expect(start(&line) == [4])
    line.ended(at: .init(app: "a"))
    #expect(start(&line) == [2])
  }

  @Test func workThatProcessesWaitForRunsInItsOrder() {
    var line = line(.init(ofMount: 1, ofApp: 1, all: 5))
    for job in 1...2 { line.add(job, at: .init(app: "a")) }
    #expect(start(&line) == [1])
    for job in 3...4 { line.addFirst(job, at: .init(app: "a")) }
    line.ended(at: .init(app: "a"))
    #expect(start(&line) == [3])
    line.addFirst(5, at: .init(app: "a"))
    line.add(6, at: .init(app: "a"))
    for job in [4, 5, 2, 6] {
      line.ended(at: .init(app: "a"))
      #expect(start(&line) == [job])
    }
  }

  @Test func thereIsALimitToAll() {
    var line = line()
    for job in 1...9 { line.add(job, at: .init(app: "\(job)", mount: nil)) }
    #expect(start(&line) == [1, 2, 3, 4, 5] && line.runningCount == 5)
    line.ended(at: .init(app: "3", mount: nil))
    #expect(start(&line) == [6])
  }

  @Test func workThatIsTakenOutRunsNoMore() {
    var line = line(.init(ofMount: 1, ofApp: 1, all: 5))
    let numbers = (1...4).map { line.add($0, at: .init(app: "a")) }
    #expect(start(&line) == [1])
    let first = line.addFirst(5, at: .init(app: "a"))
    #expect(line.remove(numbers[0]) == nil, "it runs")
    #expect(line.remove(numbers[1]) == 2)
    #expect(line.remove(first) == 5)
    line.addFirst(6, at: .init(app: "a"))
    for job in [6, 3, 4] {
      line.ended(at: .init(app: "a"))
      #expect(start(&line) == [job])
    }
  }
}
