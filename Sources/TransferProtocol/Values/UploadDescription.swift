/// The file of an upload.
package struct UploadDescription: Codable, Sendable, Equatable {
  /// The absolute path of a regular file. The app opens it and passes it on, and the service copies what it was passed before
  /// it says that the task is created; it never removes or changes the file.
  package var path: String
  /// The upload that an earlier task began, which this one goes on with.
  package var point: UploadPoint?

  package init(path: String, point: UploadPoint? = nil) {
    self.path = path
    self.point = point
  }
}

/// An upload that a later task can go on with: where the server keeps it, and which file was sent.
package struct UploadPoint: Codable, Sendable, Equatable {
  /// The URL of the upload at its server.
  package var resource: String
  /// The interop version of the draft that the server speaks.
  package var version: Int
  package var path: String
  /// The file's size, its inode and its time of change in nanoseconds since 1970. A file that has others is not sent.
  package var size: Int64
  package var inode: UInt64
  package var modified: Int64

  package init(resource: String, version: Int, path: String, size: Int64, inode: UInt64, modified: Int64) {
    self.resource = resource
    self.version = version
    self.path = path
    self.size = size
    self.inode = inode
    self.modified = modified
  }
}
