import Foundation

extension URLSession {
  /// The values that all initialisers of a session compute.
  struct Parts {
    let configuration: URLSessionConfiguration
    let engine: any TaskEngine
    let queue: OperationQueue
    let lane: DeliveryLane
    let isSerial: Bool
    let facets: DelegateFacets?

    init(
      configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, queue: OperationQueue?,
      isShared: Bool = false
    ) {
      self.configuration = configuration.copy() as? URLSessionConfiguration ?? configuration
      if let identifier = self.configuration.identifier {
        engine = BackgroundEngine(identifier: identifier, configuration: self.configuration)
      } else {
        var load = self.configuration.loadConfiguration
        if isShared {
          load.cache = .current
          load.protocols.includesRegistered = true
        }
        engine = LoadingEngine(load)
      }
      if let queue {
        self.queue = queue
        isSerial = queue.maxConcurrentOperationCount == 1
        lane = DeliveryLane(to: queue, isAlone: isSerial)
      } else {
        let own = OwnDeliveryQueue()
        self.queue = own.operations
        isSerial = true
        lane = DeliveryLane(to: own, isAlone: true)
      }
      facets = delegate.map { DelegateFacets($0) }
    }
  }

  /// Tasks as `getTasksWithCompletionHandler` hands them out: upload tasks are not repeated among the data tasks.
  struct TasksByKind {
    var data: [URLSessionDataTask] = []
    var upload: [URLSessionUploadTask] = []
    var download: [URLSessionDownloadTask] = []

    init(_ tasks: [URLSessionTask]) {
      for task in tasks {
        switch task {
        case let task as URLSessionUploadTask: upload.append(task)
        case let task as URLSessionDataTask: data.append(task)
        case let task as URLSessionDownloadTask: download.append(task)
        default: break
        }
      }
    }
  }

  /// The stores a configuration names.
  struct SessionStores {
    private let configuration: URLSessionConfiguration

    init(_ configuration: URLSessionConfiguration) { self.configuration = configuration }

    func empty() {
      configuration.httpCookieStorage?.removeCookies(since: .distantPast)
      configuration.urlCache?.removeAllCachedResponses()
      guard let credentials = configuration.urlCredentialStorage else { return }
      for (space, byUser) in credentials.allCredentials {
        for credential in byUser.values { credentials.remove(credential, for: space) }
      }
    }
  }
}
