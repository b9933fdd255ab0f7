import Foundation

/// The earlier transfer that a task was made to go on with. Apart from the task, since it is large and mostly absent.
indirect enum Resumption: Sendable {
  case download(DownloadResumeData)
  case upload(UploadResumeData)
  /// The resume data was of no use: the task fails with this.
  case broken(URLError)
}

extension URLError {
  /// The resume data for a later task; nil when none can.
  var resumeData: Data? { downloadTaskResumeData ?? uploadTaskResumeData }

  /// The file of ours that the resume data names; nil when it names none.
  package var resumeFile: URL? {
    if let data = downloadTaskResumeData, let data = try? DownloadResumeData(decoding: data) {
      return TemporaryFile.directory.appendingPathComponent(data.fileName, isDirectory: false)
    }
    if let data = uploadTaskResumeData, let data = try? UploadResumeData(decoding: data),
      case .data(let name, _) = data.source
    {
      return TemporaryFile.directory.appendingPathComponent(name, isDirectory: false)
    }
    return nil
  }

  /// Whether the file of a download's resume data is there, and has what the data says. Blocks.
  package var hasWholeResumeFile: Bool {
    guard let data = downloadTaskResumeData, let data = try? DownloadResumeData(decoding: data) else { return false }
    return data.fileProblem == nil
  }

  func adding(_ value: Data?, forKey key: String) -> URLError {
    guard let value else { return self }
    var userInfo = userInfo
    userInfo[key] = value
    return URLError(code, userInfo: userInfo)
  }
}
