import FTPTransport
import HTTPTransport

extension TransactionRecord {
  /// The figures of FTP for the metrics: the control connection, and the bytes of both.
  func note(_ session: FTPSession) {
    guard var connection = session.connection else { return }
    // The name of RFC 4217 for ALPN.
    connection.protocolName = "ftp"
    guard connection.connectEnd != nil else {
      self.unfinishedConnection = connection
      return
    }
    var exchange = ExchangeRecord(connection: connection, isReusedConnection: session.isReused)
    exchange.requestStart = session.requestStart
    exchange.requestEnd = session.responseStart
    exchange.responseStart = session.responseStart
    exchange.responseEnd = session.responseEnd
    exchange.requestHeaderBytes = session.bytesOfCommands
    exchange.responseHeaderBytes = session.bytesOfReplies
    exchange.responseBodyBytes = session.bytesOfData
    exchange.requestBodyBytes = session.sent
    self.exchange = exchange
  }
}
