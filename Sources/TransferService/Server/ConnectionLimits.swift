import NIOCore
import TransferProtocol

/// How much of the service the connections of apps may take.
package struct ConnectionLimits: Sendable {
  /// How many connections are open at a time, those included whose program is not known yet. Well below the usual limit
  /// of 1,024 open files, which the transfers' own connections and files need as well.
  package var connections = 512
  /// More than those that attach sessions and those that watch, so that short requests of the program always find a place.
  package var connectionsPerProgram = 224
  /// Connections of a program that have attached sessions.
  package var sessionConnectionsPerProgram = 128
  /// Connections of a program that watch transfers and have attached no session.
  package var watchingConnectionsPerProgram = 64
  /// How long the program at the other end of a connection may be looked for.
  package var timeForIdentification = TimeAmount.seconds(5)
  /// How many connections that are refused are kept open to be told so, of all programs together.
  package var connectionsBeingRefused = 16
  /// How long they may say nothing.
  package var timeForRefusal = TimeAmount.seconds(2)
  /// Bytes of messages that have begun to arrive, of all connections together.
  package var heldBytes = 384 << 20
  package var heldBytesPerProgram = 128 << 20
  /// Open files that apps have passed and that are not used yet, of all connections together.
  package var files = 256
  package var filesPerProgram = 128
  /// Bytes of a message, and of the messages that are not answered, as long as a connection has not said hello.
  package var bytesBeforeHello = 1 << 20
  /// How long a connection may be open without hello.
  package var timeForHello = TimeAmount.seconds(30)
  /// How long the rest of a message may take. An app has the whole message when it begins to send it.
  package var timeForMessage = TimeAmount.seconds(30)

  package init() {}
}
