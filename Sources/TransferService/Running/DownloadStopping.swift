/// A try that can be told to stop.
package protocol DownloadStopping: Sendable {
  func stop()
}
