import LoopbackServer
import Testing

struct DatagramCourseTests {
  private func fates(_ course: DatagramCourse, of count: Int = 1_000) -> [[DatagramCourse.Delivery]] {
    var course = course
    return (0..<count).map { course.deliveries(of: [UInt8($0 & 0xff), 0, 0], .toServer) }
  }

  @Test func withoutFaultsAllArriveAsTheyWere() {
    for (index, fate) in fates(DatagramCourse()).enumerated() {
      #expect(fate == [.init(bytes: [UInt8(index & 0xff), 0, 0], milliseconds: 0)])
    }
  }

  @Test func aSeedIsAlwaysTheSameCourse() {
    var course = DatagramCourse(seed: 7)
    (course.loss, course.duplication, course.reordering, course.corruption) = (0.2, 0.2, 0.2, 0.2)
    #expect(fates(course) == fates(course))
    var other = DatagramCourse(seed: 8)
    (other.loss, other.duplication, other.reordering, other.corruption) = (0.2, 0.2, 0.2, 0.2)
    #expect(fates(course) != fates(other))
  }

  @Test func theSharesAreThoseThatWereAskedFor() {
    var course = DatagramCourse()
    course.loss = 0.25
    #expect((200...300).contains(fates(course).count { $0.isEmpty }))
    course = DatagramCourse()
    course.duplication = 0.25
    #expect((200...300).contains(fates(course).count { $0.count == 2 }))
    course = DatagramCourse()
    course.corruption = 0.25
    let changed = fates(course).enumerated().count { $1.first?.bytes != [UInt8($0 & 0xff), 0, 0] }
    #expect((200...300).contains(changed))
  }

  @Test func theFirstAreLostInEachDirection() {
    var course = DatagramCourse()
    course.firstLost = (1, 2)
    let toServer = (0..<3).map { _ in course.deliveries(of: [1], .toServer).count }
    let toClient = (0..<3).map { _ in course.deliveries(of: [1], .toClient).count }
    #expect(toServer == [0, 1, 1] && toClient == [0, 0, 1])
  }
}
