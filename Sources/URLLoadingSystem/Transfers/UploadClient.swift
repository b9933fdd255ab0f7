/// The owner of a `ResumableUpload`: a task of a session, or a transfer of the service. Told on the load's loop.
///
/// The load of the upload reports to its `LoadClient` as any load does. What that client is told of interim responses,
/// of bytes sent and of streams that are missing it passes on to the upload.
package protocol UploadClient: AnyObject, Sendable {
  /// The server has named the upload's resource, or said something new about it: what has to be kept to resume the
  /// upload later is now `place`.
  func uploadAdvanced(_ place: UploadPlace)
}
