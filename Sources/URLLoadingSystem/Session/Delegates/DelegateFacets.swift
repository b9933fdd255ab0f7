import Foundation

/// A delegate seen through each of the protocols it conforms to, so that the casts are made once.
final class DelegateFacets: Sendable {
  let session: any URLSessionDelegate
  let task: (any URLSessionTaskDelegate)?
  let data: (any URLSessionDataDelegate)?
  let download: (any URLSessionDownloadDelegate)?
  let webSocket: (any URLSessionWebSocketDelegate)?
  let stream: (any URLSessionStreamDelegate)?
  let capabilities: DelegateCapabilities

  init(_ delegate: any URLSessionDelegate) {
    session = delegate
    task = delegate as? any URLSessionTaskDelegate
    data = task as? any URLSessionDataDelegate
    download = task as? any URLSessionDownloadDelegate
    webSocket = task as? any URLSessionWebSocketDelegate
    stream = task as? any URLSessionStreamDelegate
    capabilities = DelegateCapabilities.of(delegate)
    // A class lacks the methods of a protocol that it does not conform to.
    if task == nil { capabilities.noteMissing(DelegateMethod.ofTasks) }
    if data == nil { capabilities.noteMissing(DelegateMethod.ofDataTasks) }
    if download == nil { capabilities.noteMissing(DelegateMethod.ofDownloadTasks) }
    if webSocket == nil { capabilities.noteMissing(DelegateMethod.ofWebSocketTasks) }
    if stream == nil { capabilities.noteMissing(DelegateMethod.ofStreamTasks) }
  }
}
