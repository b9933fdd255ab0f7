import Foundation
import TransferProtocol
import URLLoadingSystem

/// The file of an upload as the queue has it, and how far it has come.
package struct StoredUpload: Codable, Sendable, Equatable {
  /// The place where a server keeps the bytes that it has.
  package struct Place: Codable, Sendable, Equatable {
    package var resource: String
    package var version: Int
    /// How many bytes the server was last known to have.
    package var acknowledged: Int64
  }

  /// The app's file.
  package var path: String
  /// The app's file as it was when the task was created; nil when it could not be read.
  package var identity: URLLoadingSystem.FileIdentity?
  /// The device that the app's file is on, so that without a copy no other file is sent in its place. nil where it could not be
  /// read, and in records of earlier versions.
  package var device: UInt64?
  /// The name under which the service's copy was made, before the transfer had a number; nil when there is none, so that
  /// the app's file is sent, as long as it is as it was.
  package var copy: String?
  /// The same of a copy that is sealed. Apart from `copy`, so that an earlier version of the service does not take what is in it
  /// for the file.
  var sealedCopy: SealedCopy?
  /// Why the file can't be sent; nil when it can.
  package var problem: String?
  package var sent: Int64 = 0
  /// The last bytes may have left, so that the server may act on the request; only noted of requests that do harm when
  /// they arrive twice. nil: no.
  package var isEnding: Bool?
  package var place: Place?

  package init(path: String) { self.path = path }

  /// The name under which a copy was made, whether it is sealed or not; nil when there is none.
  package var copyName: String? { copy ?? sealedCopy?.name }

  /// -1 when it is not known.
  package var size: Int64 { identity?.size ?? -1 }

  /// Whether an earlier record of it serves a queue that is made anew: the server says how much it has.
  func isJournalled(by earlier: StoredUpload) -> Bool {
    isEnding == earlier.isEnding && place?.resource == earlier.place?.resource
  }

  /// The upload for a later task that goes on with it; nil when the server has not said where it keeps the upload.
  var point: UploadPoint? {
    guard let place, let identity else { return nil }
    return UploadPoint(
      resource: place.resource, version: place.version, path: path, size: identity.size, inode: identity.inode,
      modified: identity.modified)
  }
}
