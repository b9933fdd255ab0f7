import Logging
import LoopbackServer

/// Records the messages of a log.
struct RecordingLog: LogHandler {
  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]
  let logged: Recorder<String>
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }
  func log(event: LogEvent) { logged.record(event.message.description) }
}
