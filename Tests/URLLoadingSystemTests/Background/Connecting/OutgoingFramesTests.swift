import Foundation
import SystemServices
import Testing

@testable import URLLoadingSystem

@Suite struct OutgoingFramesTests {
  private func frame(_ request: UInt64, files: Int = 0) -> OutgoingFrames.Frame {
    .init(request: request, bytes: Data(), files: (0..<files).map { _ in SourceFile(owning: -1) })
  }

  /// The service reads the byte that brings files in another way than messages.
  @Test func nothingIsSentBetweenAMessageAndItsFiles() {
    var outgoing = OutgoingFrames()
    #expect(outgoing.add(frame(1)).map(\.request) == [1])
    #expect(outgoing.add(frame(2, files: 3)).map(\.request) == [2])
    #expect(outgoing.add(frame(3)).isEmpty && outgoing.add(frame(4, files: 1)).isEmpty)
    #expect(outgoing.add(frame(5)).isEmpty)
    #expect(outgoing.answered(1).isEmpty && outgoing.filesSent(of: 3).isEmpty && outgoing.takeFiles(of: 4) == nil)
    #expect(outgoing.takeFiles(of: 2)?.count == 3)
    #expect(outgoing.takeFiles(of: 2) == nil, "they are sent once")
    #expect(outgoing.filesSent(of: 2).map(\.request) == [3, 4])
    #expect(outgoing.takeFiles(of: 4)?.count == 1)
    #expect(outgoing.filesSent(of: 4).map(\.request) == [5])
    #expect(outgoing.add(frame(6)).map(\.request) == [6])
  }

  /// As a service of an earlier version does, and one that refuses the request.
  @Test func anAnswerInPlaceOfTheQuestionEndsTheWait() {
    var outgoing = OutgoingFrames()
    #expect(outgoing.add(frame(1, files: 1)).count == 1 && outgoing.add(frame(2)).isEmpty)
    #expect(outgoing.answered(1).map(\.request) == [2])
    #expect(outgoing.takeFiles(of: 1) == nil && outgoing.answered(1).isEmpty)
  }
}
