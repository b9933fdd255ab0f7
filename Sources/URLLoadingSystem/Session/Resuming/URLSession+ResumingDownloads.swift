import Foundation

extension URLSession {
  func makeDownloadTask(resuming data: Data, recipient: ResultRecipient = .delegates) -> URLSessionDownloadTask {
    let resumption = Resumption(downloadData: data)
    return makeDownloadTask(resumption.request, recipient: recipient, resumption: resumption)
  }

  func makeCallDownloadTask(resuming data: Data, delegate: (any URLSessionTaskDelegate)?) -> URLSessionDownloadTask {
    let resumption = Resumption(downloadData: data)
    return makeCallDownloadTask(resumption.request, delegate: delegate, resumption: resumption)
  }
}

extension Resumption {
  init(downloadData data: Data) {
    do {
      self = .download(try DownloadResumeData(decoding: data))
    } catch let problem as DownloadResumeData.Problem {
      self = .broken(problem.urlError)
    } catch {
      self = .broken(DownloadResumeData.Problem.unreadable.urlError)
    }
  }

  /// The request that the task is made with; nil when the resume data does not tell.
  var request: URLRequest? {
    switch self {
    case .download(let data): data.originalRequest.urlRequest
    case .upload(let data): data.originalRequest.urlRequest
    case .broken: nil
    }
  }

  /// The request that the task starts with as its current one, when it differs.
  var currentRequest: URLRequest? {
    switch self {
    case .download(let data): data.currentRequest.urlRequest
    case .upload, .broken: nil
    }
  }
}
