import Foundation
import HTTPTransport
import SystemServices

/// Refuses the tasks that a background session can't run, before they are handed over.
enum BackgroundTaskRules {
  /// nil when the task can be handed over.
  ///
  /// - Parameter fileProblem: `DownloadResumeData.fileProblem` of the task's resume data.
  static func problem(with task: URLSessionTask, fileProblem: URLError?) -> URLError? {
    let recipient = task.recipient
    if case .broken(let error) = task.resumption { return error }
    if let fileProblem { return fileProblem }
    guard recipient.isDelegates else {
      return ErrorMapping.make(
        .unknown,
        because: "A background session tells its delegate: a completion handler or an async call would be "
          + "lost with the process.")
    }
    if task is URLSessionWebSocketTask || task is URLSessionStreamTask {
      return ErrorMapping.make(.unknown, because: "Background sessions take download, upload and data tasks only.")
    }
    guard let request = task.handedRequest, ["http", "https"].contains(request.url?.scheme?.lowercased() ?? "") else {
      return ErrorMapping.make(.unsupportedURL, because: "Background sessions load http and https URLs only.")
    }
    if task is URLSessionUploadTask {
      guard case .file = task.requestBody else {
        return ErrorMapping.make(
          .unknown,
          because: "A background session uploads files only, since data and streams end with the process: write the "
            + "data to a file and use uploadTask(with:fromFile:).")
      }
    }
    return request.uncarriedProperty()
  }

  /// Why the file of an upload can't be sent; nil when it can, or when too many files are open to find out. Blocks.
  static func problem(withFile url: URL) -> URLError? {
    do { _ = try open(url) } catch let error as URLError { return error } catch {}
    return nil
  }

  /// The file of an upload, for the transfer service. Blocks.
  ///
  /// - Throws: `URLError` where it can't be sent, `SystemError` where it can't be opened at the moment.
  static func open(_ url: URL) throws -> SourceFile {
    BlockingWork.assertMayBlock()
    let path = url.path
    do {
      guard url.isFileURL else { throw SystemError(ENOENT, "open", path: path) }
      let file = try SourceFile.open(path)
      guard try !file.hasUntoldBytes() else {
        throw ErrorMapping.make(
          .cannotOpenFile,
          because: "\(path) can't be uploaded: its length is told as 0, and it has content, as files of /proc do. "
            + "Upload a copy of it.")
      }
      return file
    } catch let error as SystemError where !error.isTransient {
      switch error.code {
      case ENOENT, ENOTDIR:
        throw ErrorMapping.make(.fileDoesNotExist, because: "The file to upload does not exist: \(path).")
      case EACCES, EPERM:
        throw ErrorMapping.make(.noPermissionsToReadFile, because: "The file to upload can't be read: \(path).")
      case EISDIR: throw ErrorMapping.make(.fileIsDirectory, because: "\(path) can't be uploaded: it is not a file.")
      case EINVAL: throw ErrorMapping.make(.cannotOpenFile, because: "\(path) can't be uploaded: it is not a file.")
      default: throw ErrorMapping.make(.cannotOpenFile, because: "The file to upload can't be opened: \(error).")
      }
    }
  }
}
