import Testing

@testable import HTTPTransport

@Suite struct ShortQueueTests {
  @Test func elementsLeaveInOrder() {
    var queue = ShortQueue<Int>()
    #expect(queue.isEmpty && queue.last == nil && queue.popFirst() == nil && queue.popLast() == nil)
    for number in 1...3 {
      queue.append(number)
      #expect(queue.last == number && !queue.isEmpty)
    }
    #expect(queue.popFirst() == 1)
    queue.append(4)
    #expect(queue.popLast() == 4)
    #expect(queue.popFirst() == 2)
    #expect(queue.popLast() == 3)
    #expect(queue.isEmpty && queue.popLast() == nil)
    queue.append(5)
    #expect(queue.popFirst() == 5 && queue.isEmpty)
  }
}
