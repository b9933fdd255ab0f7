import FTPTransport
import Foundation
import HTTPTransport
import NIOCore

/// The data of an FTP transfer, pulled from its connection. Confined to the load's loop.
final class FTPBodyReader: AwaitedBody.Reader {
  private let session: FTPSession
  private let record: TransactionRecord?
  private let context: LoadContext
  private let url: URL
  private var isOver = false

  init(session: FTPSession, record: TransactionRecord?, context: LoadContext, url: URL) {
    self.session = session
    self.record = record
    self.context = context
    self.url = url
  }

  deinit {
    guard !isOver else { return }
    let session = self.session
    context.loop.execute { session.abort(CancellationError()) }
  }

  func next() async throws -> ByteBuffer? {
    context.loop.assertInEventLoop()
    guard !isOver else { return nil }
    do {
      let bytes = try await session.read()
      if let bytes {
        record?.responseBodyBytesAfterDecoding += Int64(bytes.readableBytes)
      } else {
        finish()
      }
      return bytes
    } catch {
      finish()
      throw ErrorMapping.urlError(error, url: url)
    }
  }

  func abort(_ error: any Error) { session.abort(error) }

  func close() {
    context.loop.assertInEventLoop()
    guard !isOver else { return }
    session.abort(CancellationError())
    finish()
  }

  private func finish() {
    isOver = true
    record?.note(session)
    session.close()
  }
}
