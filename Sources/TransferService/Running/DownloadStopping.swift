/// A try that can be told to stop.
package protocol DownloadStopping: Sendable {
  func stop()
  /// Ends the try where its request may be made again, and its answer comes again. Else the try goes on to its end, of which nothing
  /// is told here.
  func stopIfRepeatable()
  /// Has what the try has so far outlive a machine that fails. It goes on.
  ///
  /// - Parameter ended: called once, on any thread: when it does, or can't.
  func checkpoint(_ ended: @escaping @Sendable () -> Void)
}

extension DownloadStopping {
  package func checkpoint(_ ended: @escaping @Sendable () -> Void) { ended() }
}
