import Foundation

extension URLSession {
  func makeUploadTask(resuming data: Data, recipient: ResultRecipient = .delegates) -> URLSessionUploadTask {
    let resumption: Resumption
    var body = RequestBody.none
    do {
      let decoded = try UploadResumeData(decoding: data)
      resumption = .upload(decoded)
      body = decoded.body
    } catch {
      let problem = error as? DownloadResumeData.Problem ?? .unreadable
      resumption = .broken(problem.urlError)
    }
    return makeUploadTask(resumption.request, body: body, recipient: recipient, resumption: resumption)
  }
}
