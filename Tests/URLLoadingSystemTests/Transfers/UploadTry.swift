import Foundation
import HTTPSemantics
import HTTPTransport
import LoopbackServer

@testable import URLLoadingSystem

/// One try of an upload, without a task or a transfer around it: notes what the flow and its loads tell their client.
final class UploadTry: UploadClient, LoadClient, @unchecked Sendable {
  enum End: Sendable {
    case answered(status: Int, body: String)
    case failed(URLError.Code)
    case refused(PassingRefusal)
  }

  // Confined to the load's loop.
  private var upload: ResumableUpload<UploadTry>?
  /// What the streams that the server asks for hold; nil for a client that has none.
  private let content: Data?
  /// What was told of the place, each with its offset.
  let places = Recorder<UploadPlace>()
  /// Bytes sent and expected, of the whole.
  let progress = Recorder<[Int64]>()

  init(streaming content: Data? = nil) { self.content = content }

  func uploadAdvanced(_ place: UploadPlace) { places.record(place) }

  func load(_ context: LoadContext, didReceiveInformational response: HTTPURLResponse) {
    upload?.receivedInformational(response)
  }

  func load(_ context: LoadContext, didSendBodyBytes count: Int64, total: Int64, expected: Int64) {
    guard let upload else { return }
    let (sent, expected) = upload.progress(ofBody: total, expected: expected)
    progress.record([sent, expected])
  }

  func load(_ context: LoadContext, needsBodyStreamFrom offset: Int64) async throws -> SendableInputStream? {
    guard let content else {
      upload?.streamIsMissing()
      return nil
    }
    return SendableInputStream(InputStream(data: content.dropFirst(Int(offset))))
  }

  /// Runs the try to its end; returns how it ended and what a later try needs.
  func run(
    _ request: URLRequest, from source: UploadSource, to place: UploadPlace, over transport: HTTPTransport,
    busyServer: BusyServerPolicy = .asksAgain
  ) async throws -> (end: End, place: UploadPlace) {
    let context = LoadContext(
      for: request.url, configuration: URLSessionConfiguration.loopback.loadConfiguration, transport: transport,
      client: self)
    let ends = Recorder<(End, UploadPlace)>()
    context.start { context in
      let upload = ResumableUpload(
        request, from: source, to: place, busyServer: busyServer, for: self, in: context)
      self.upload = upload
      let end = await Self.end(of: upload)
      ends.record((end, upload.place))
      self.upload = nil
      context.control.finish()
    }
    return try await ends.next()
  }

  private static func end(of upload: ResumableUpload<UploadTry>) async -> End {
    do {
      let loaded = try await upload.run()
      var body = ""
      while let bytes = try await loaded.body.next() { body += String(buffer: bytes) }
      return .answered(status: loaded.head?.status ?? 0, body: body)
    } catch let refusal as PassingRefusal {
      return .refused(refusal)
    } catch { return .failed(ErrorMapping.urlError(error, url: nil).code) }
  }
}
