import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// What Apple has deprecated and apps still call. Reached through a protocol, since calls of deprecated members are
/// warnings and warnings are errors here.
private protocol OlderMembers {
  static func session() -> URLSession
  static func sessionMadeByNew() -> URLSession
  static func configuration() -> URLSessionConfiguration
  static func configurationMadeByNew() -> URLSessionConfiguration
  static func background(_ identifier: String) -> URLSessionConfiguration
  static func tasks() -> [URLSessionTask]
  static func tasksMadeByNew() -> [URLSessionTask]
  static func metrics() -> URLSessionTaskMetrics
  static func metricsMadeByNew() -> (URLSessionTaskMetrics, URLSessionTaskTransactionMetrics)
  static func transactionMetrics() -> URLSessionTaskTransactionMetrics
  static func mutableRequest(_ url: URL) -> NSMutableURLRequest
  static func failingURLString(_ error: URLError) -> String?
  static var failingURLStringKey: String { get }
}

private enum Older: OlderMembers {
  @available(*, deprecated) static func session() -> URLSession { URLSession() }
  @available(*, deprecated) static func sessionMadeByNew() -> URLSession { URLSession.new() }
  static func configuration() -> URLSessionConfiguration { URLSessionConfiguration() }
  @available(*, deprecated) static func configurationMadeByNew() -> URLSessionConfiguration {
    URLSessionConfiguration.new()
  }
  @available(*, deprecated) static func background(_ identifier: String) -> URLSessionConfiguration {
    .backgroundSessionConfiguration(identifier)
  }
  @available(*, deprecated) static func tasks() -> [URLSessionTask] {
    let stream = URLSessionStreamTask()
    stream.stopSecureConnection()
    return [
      URLSessionTask(), URLSessionDataTask(), URLSessionUploadTask(), URLSessionDownloadTask(),
      URLSessionWebSocketTask(), stream,
    ]
  }
  @available(*, deprecated) static func tasksMadeByNew() -> [URLSessionTask] {
    let data: URLSessionDataTask = URLSessionDataTask.new()
    let upload: URLSessionUploadTask = URLSessionUploadTask.new()
    let download: URLSessionDownloadTask = URLSessionDownloadTask.new()
    let stream: URLSessionStreamTask = URLSessionStreamTask.new()
    return [URLSessionTask.new(), data, upload, download, stream]
  }
  @available(*, deprecated) static func metricsMadeByNew() -> (URLSessionTaskMetrics, URLSessionTaskTransactionMetrics)
  {
    (URLSessionTaskMetrics.new(), URLSessionTaskTransactionMetrics.new())
  }
  @available(*, deprecated) static func metrics() -> URLSessionTaskMetrics { URLSessionTaskMetrics() }
  @available(*, deprecated) static func transactionMetrics() -> URLSessionTaskTransactionMetrics {
    URLSessionTaskTransactionMetrics()
  }
  @available(*, deprecated) static func mutableRequest(_ url: URL) -> NSMutableURLRequest {
    MutableURLRequest(url: url)
  }
  @available(*, deprecated) static func failingURLString(_ error: URLError) -> String? { error.failureURLString }
  @available(*, deprecated) static var failingURLStringKey: String { NSURLErrorFailingURLStringErrorKey }
}

@Suite struct DeprecatedMemberTests {
  private let older: any OlderMembers.Type = Older.self

  @Test func aSessionFromNothingIsADefaultOne() async throws {
    for session in [older.session(), older.sessionMadeByNew()] {
      #expect(session.delegate == nil)
      #expect(session.configuration.httpCookieStorage === HTTPCookieStorage.shared)
      #expect(try await session.data(from: try textURL("x")).0 == Data("x".utf8))
      session.finishTasksAndInvalidate()
    }
  }

  @Test func configurationsHaveOlderSpellings() {
    #expect(older.configuration().timeoutIntervalForRequest == 60)
    #expect(older.configuration().urlCache === URLCache.shared)
    #expect(older.configurationMadeByNew().urlCache === URLCache.shared)
    let background = older.background("org.example.older")
    #expect(background.identifier == "org.example.older")
    #expect(background.urlCache == nil)
  }

  /// Apps subclass them to stand in for tasks in tests.
  @Test func tasksOfNoSessionDoNothing() {
    for task in older.tasks() + older.tasksMadeByNew() {
      #expect(task.taskIdentifier == 0)
      #expect(task.originalRequest == nil && task.currentRequest == nil && task.response == nil)
      task.resume()
      #expect(task.state == .suspended || task.state == .running)
      task.suspend()
      task.cancel()
      #expect(task.error == nil)
    }
  }

  @Test func metricsOfNothingAreEmpty() {
    #expect(older.metrics().transactionMetrics.isEmpty && older.metrics().redirectCount == 0)
    #expect(older.metricsMadeByNew().0.transactionMetrics.isEmpty)
    #expect(older.metricsMadeByNew().1.request.url == nil)
    #expect(older.transactionMetrics().request.url == nil)
    #expect(older.transactionMetrics().resourceFetchType == .unknown)
    #expect(older.transactionMetrics().requestStartDate == nil)
  }

  @Test func aMutableRequestHasItsOldestName() throws {
    let url = try #require(URL(string: "https://example.com"))
    #expect(older.mutableRequest(url).url == url)
  }

  @Test func aFailureSaysWhichURLFailedAsText() async throws {
    #expect(older.failingURLStringKey == NSErrorFailingURLStringKey)
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "gopher://host/x"))
    let error = try #require(await #expect(throws: URLError.self) { _ = try await session.data(from: url) })
    #expect(older.failingURLString(error) == "gopher://host/x")
  }
}
