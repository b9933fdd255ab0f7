/// A body whose bytes can be read from any place on, as those of a file, but are not in a file as they are sent.
///
/// It is read as a file is: on the threads for the files of bodies, one piece at a time, and not ahead of the socket.
package protocol BodyContent: Sendable {
  var length: Int64 { get }
  /// Blocks.
  ///
  /// - Parameter offset: less than `length`.
  /// - Returns: how many bytes were read: one at least, and fewer than there is room for where that is easier.
  /// - Throws: the error that ends the task. Bytes that are not the right ones are none.
  func read(into space: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
}
