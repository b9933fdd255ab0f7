import Foundation
import LoopbackServer
import Synchronization
import URLLoadingSystem

/// A delegate of downloads that writes down what it is told, and puts the file into a folder.
@available(*, deprecated)
final class DownloadRecorder: ConnectionLog, NSURLDownloadDelegate, @unchecked Sendable {
  // Sendable by hand: the closures are set before the first download is made.

  let folder: TemporaryFolder
  let paths = Recorder<String>()
  let lengths = Recorder<Int>()
  var onSend: (URLRequest, URLResponse?) -> URLRequest? = { request, _ in request }
  var onEvent: (NSURLDownload, String) -> Void = { _, _ in }
  /// nil leaves the destination undecided.
  var place: (String) -> (String, Bool)?
  var decodes: (String) -> Bool = { _ in true }

  init(_ folder: TemporaryFolder) {
    self.folder = folder
    place = { (folder.url.appendingPathComponent($0).path, false) }
  }

  private func tell(_ download: NSURLDownload, _ event: String) {
    note(event)
    onEvent(download, event)
  }

  func downloadDidBegin(_ download: NSURLDownload) { tell(download, "begin") }

  func download(
    _ download: NSURLDownload, willSend request: URLRequest, redirectResponse: URLResponse?
  ) -> URLRequest? {
    tell(download, "send \((redirectResponse as? HTTPURLResponse)?.statusCode ?? 0)")
    return onSend(request, redirectResponse)
  }

  func download(_ download: NSURLDownload, didReceive response: URLResponse) { tell(download, "response") }

  func download(_ download: NSURLDownload, willResumeWith response: URLResponse, fromByte startingByte: Int64) {
    tell(download, "resume \(startingByte)")
  }

  func download(_ download: NSURLDownload, didReceiveDataOfLength length: Int) {
    lengths.record(length)
    tell(download, "length")
  }

  func download(_ download: NSURLDownload, shouldDecodeSourceDataOfMIMEType encodingType: String) -> Bool {
    tell(download, "decode \(encodingType)")
    return decodes(encodingType)
  }

  func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String) {
    tell(download, "decide \(filename)")
    if let (path, allowOverwrite) = place(filename) { download.setDestination(path, allowOverwrite: allowOverwrite) }
  }

  func download(_ download: NSURLDownload, didCreateDestination path: String) {
    paths.record(path)
    tell(download, "created")
  }

  func downloadDidFinish(_ download: NSURLDownload) { end("finished") }

  func download(_ download: NSURLDownload, didFailWithError error: any Error) { fail(error) }
}

/// A folder of the test's own, removed with the object.
final class TemporaryFolder: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("downloads-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: url) }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

  func data(_ name: String) -> Data? { FileManager.default.contents(atPath: url.appendingPathComponent(name).path) }

  func text(_ name: String) -> String? { data(name).map { String(decoding: $0, as: UTF8.self) } }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: url.appendingPathComponent(name))
  }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
