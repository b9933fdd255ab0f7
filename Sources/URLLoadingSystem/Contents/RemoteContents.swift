import Foundation

/// The contents of a URL that is no file, for Foundation's initialisers that wait for them.
package struct RemoteContents: Sendable {
  package let data: Data
  /// The charset that the response names; nil when it names none.
  package let textEncodingName: String?

  /// Loads `url` through the shared session, and blocks the calling thread until its contents are there.
  ///
  /// An answer counts with a status of 200 to 399, 401 or 407, as for Apple's and the toolchain's initialisers.
  /// - Throws: A `CocoaError`, with the cause as its underlying error: `fileReadUnsupportedScheme` for a URL that
  ///   can't be loaded, `fileReadUnknown` for everything else.
  package init(of url: URL) throws { try self.init(of: url, in: .shared) }

  init(of url: URL, in session: URLSession) throws {
    let (response, result) = session.waitForAnswer(to: URLRequest(url: url))
    do { data = try result.get() } catch { throw RemoteContents.error(error, url: url) }
    if let status = (response as? HTTPURLResponse)?.statusCode, !RemoteContents.isAnswer(status) {
      let cause = ErrorMapping.make(.badServerResponse, because: "The server answered with status \(status).")
      throw RemoteContents.error(ErrorMapping.urlError(cause, url: url), url: url)
    }
    textEncodingName = response?.textEncodingName
  }

  private static func isAnswer(_ status: Int) -> Bool {
    switch status {
    case 200...399, 401, 407: true
    default: false
    }
  }

  private static func error(_ cause: any Error, url: URL) -> CocoaError {
    let isUnsupported = (cause as? URLError)?.code == .unsupportedURL
    return CocoaError(
      isUnsupported ? .fileReadUnsupportedScheme : .fileReadUnknown,
      userInfo: [
        NSURLErrorKey: url, NSUnderlyingErrorKey: cause, NSLocalizedDescriptionKey: cause.localizedDescription,
      ])
  }
}
