import Foundation
import LoopbackServer
import Testing

/// The frames by which a peer refuses the request on stream 1, and the error that comes of it.
struct HTTP2Refusal: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let code: URLError.Code
  let frames: [HTTP2Peer.Frame]

  init(_ description: String, _ code: URLError.Code, _ frames: [HTTP2Peer.Frame]) {
    testDescription = description
    self.code = code
    self.frames = frames
  }
}
