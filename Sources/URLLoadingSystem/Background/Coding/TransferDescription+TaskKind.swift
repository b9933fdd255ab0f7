import Foundation
import HTTPSemantics
import TransferProtocol

extension TransferDescription {
  /// Says which kind of task it is, and which file an upload sends.
  mutating func encodeKind(of task: URLSessionTask) {
    if case .file(let url) = task.requestBody, task is URLSessionUploadTask {
      kind = .upload
      var file = UploadDescription(path: url.path)
      if case .upload(let data) = task.resumption { file.point = data.uploadPoint }
      upload = file
    } else if task is URLSessionDataTask {
      isDataTask = true
    }
  }

  /// The kind of task that it describes.
  var restoredKind: URLSession.RestoredKind {
    if let upload { return .upload(of: URL(fileURLWithPath: upload.path)) }
    return isDataTask == true ? .data : .download
  }
}

extension URLSessionTask {
  /// The request that the service gets. The body of an upload is its file, whatever the request has.
  var handedRequest: URLRequest? {
    guard var request = presentRequest else { return nil }
    if self is URLSessionUploadTask { (request.httpBody, request.httpBodyStream) = (nil, nil) }
    return request
  }
}

extension UploadResumeData {
  /// The same for the transfer service; nil where the bytes are not those of a file of the app's.
  var uploadPoint: UploadPoint? {
    guard case .file(let path, let identity) = source, let version = Int(protocolVersion) else { return nil }
    return UploadPoint(
      resource: resource, version: version, path: path, size: identity.size, inode: identity.inode,
      modified: identity.modified)
  }

  /// The data of an upload that the transfer service has left for a later task.
  init?(_ point: UploadPoint, of task: URLSessionTask) {
    guard let request = task.presentRequest, let resource = URL(string: point.resource),
      let version = UploadVersion(String(point.version))
    else { return nil }
    let identity = FileIdentity(size: point.size, inode: point.inode, modified: point.modified)
    self.init(request: request, resource: resource, version: version, source: .file(path: point.path, identity))
  }
}
