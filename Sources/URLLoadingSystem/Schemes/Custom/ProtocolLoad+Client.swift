import Foundation
import NIOCore

extension ProtocolLoad: URLProtocolClient {
  func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
    receive { $0.redirect(to: request, by: redirectResponse) }
  }

  func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
    let body = ProtocolLoad.pieces(of: cachedResponse.data)
    receive { $0.answer(cachedResponse.response, body) }
  }

  func urlProtocol(
    _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
  ) {
    receive { $0.receive(response, policy) }
  }

  func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
    let limit = ProtocolLoad.largestChunk
    guard data.count > limit else { return receive(ByteBuffer(bytes: data)) }
    for start in stride(from: 0, to: data.count, by: limit) {
      receive(ByteBuffer(bytes: data.dropFirst(start).prefix(limit)))
    }
  }

  func urlProtocolDidFinishLoading(_ protocol: URLProtocol) { receive { $0.finish() } }

  func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) { receive { $0.fail(error) } }

  func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
    executor.loop.execute { self.run?.context.moveToHost { self.ask(challenge) } }
  }

  func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
    executor.loop.execute { self.giveUpQuestion(about: challenge) }
  }

  /// Data is kept in pieces of this size, so that only what has no room in memory goes to the file.
  private static let largestChunk = 1024 * 1024

  /// `data` in buffers, each of which has a length that fits 32 bits.
  private static func pieces(of data: Data) -> [ByteBuffer] {
    let limit = 1 << 30
    guard data.count > limit else { return data.isEmpty ? [] : [ByteBuffer(bytes: data)] }
    return stride(from: 0, to: data.count, by: limit).map { ByteBuffer(bytes: data.dropFirst($0).prefix(limit)) }
  }
}
