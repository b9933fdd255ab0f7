import NIOCore

/// A connection that is ready for HTTP: connected, and through the TLS handshake where there is one.
struct EstablishedConnection {
  let channel: any Channel
  let record: ConnectionRecord
  /// Bytes that the server has sent already; none where HTTP is spoken.
  let earlyBytes: ByteBuffer
  /// The server's certificates, its own first (DER), as it sent them; none without a full handshake.
  let certificates: [[UInt8]]

  #if HTTP3
  /// The QUIC connection whose socket `channel` is; nil over TCP.
  var quic: QUICConnection?
  #endif

  /// Closes it without having used it.
  func discard() {
    #if HTTP3
    if let quic { return quic.close(.noError) }
    #endif
    channel.close(promise: nil)
  }

  /// The connection of a pool, in the protocol that the handshake chose. Closes the channel when it throws.
  func start(
    _ id: HTTPConnectionPool.ConnectionID, _ key: ConnectionKey, in pool: HTTPConnectionPool
  ) throws(ConnectFailure) -> any PooledConnection {
    #if HTTP3
    if let quic {
      guard quic.failure == nil, quic.channel.isActive else {
        throw ConnectFailure(cause: TransportError.closedBeforeResponse(wasReused: false), record: record)
      }
      return HTTP3Connection(id: id, key: key, record: record, quic: quic, pool: pool)
    }
    #endif
    do {
      guard record.protocolName == "h2" else {
        let connection = HTTP1Connection(id: id, key: key, established: self, pool: pool)
        try connection.activate()
        return connection
      }
      // RFC 9113 §9.2.2: of a proxy's suites nothing is known here, and those that are offered may be used.
      guard
        key.asksProxySecurely || HTTP2Security.isAdequate(tlsVersion: record.tlsVersion, suite: record.tlsCipherSuite)
      else {
        HTTP2Connection.refuse(channel, .inadequateSecurity)
        throw TransportError.tlsHandshakeFailed(.other("the server's cipher suite is too weak for HTTP/2"))
      }
      let connection = HTTP2Connection(id: id, key: key, established: self, pool: pool)
      try connection.activate()
      return connection
    } catch {
      discard()
      throw ConnectFailure(cause: error, record: record)
    }
  }
}
