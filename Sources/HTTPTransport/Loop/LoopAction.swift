import NIOCore

/// An action on its way to a Swift task of the event loop that it was made on and is run on.
package struct LoopAction: @unchecked Sendable {
  // Sendable by hand: made, run and released on one loop.
  private let loop: any EventLoop
  private let action: () -> Void

  package init(on loop: any EventLoop, _ action: @escaping () -> Void) {
    loop.assertInEventLoop()
    self.loop = loop
    self.action = action
  }

  package func run() {
    loop.assertInEventLoop()
    action()
  }
}
