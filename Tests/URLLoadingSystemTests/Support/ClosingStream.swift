import Foundation
import LoopbackServer
import NIOPosix

/// An empty stream that notes whether it is closed on an event loop.
final class ClosingStream: InputStream {
  private let closings: Recorder<Bool>

  init(_ closings: Recorder<Bool>) {
    self.closings = closings
    super.init(data: Data())
  }

  override func close() { closings.record(MultiThreadedEventLoopGroup.currentEventLoop != nil) }
}
