import Foundation
import HTTPSemantics
import SystemServices
import TransferProtocol

/// All that a new queue has to know of a transfer with bytes on the disk. It is kept in a file of its own, so that it
/// outlives the queue.
struct TransferJournal: Codable, Sendable, Equatable {
  var transfer: TransferID
  var program: ExecutableIdentity
  var session: String
  /// Without the logins of proxies and without additional header fields.
  var options: SessionOptions
  var judgesConnections: Bool
  var isSuspended: Bool
  var created: Date
  /// Without header fields and without a body.
  var description: TransferDescription
  /// The parts that the description is without; nil where there is nothing or no key.
  var sealedRequest: Data?
  /// The additional header fields of the session; nil where there is nothing or no key.
  var sealedFields: Data?
  /// There was no key for some of these: only the app can make the request again.
  var lacksFields: Bool
  var sealedPassword: Data?
  var response: ResponseSummary?
  var validator: ResumeValidator?
  /// -1 when it is not known.
  var expectedTotal: Int64
  /// As many bytes were on the disk for certain.
  var committedOffset: Int64
  /// The start of the machine in which it was written.
  var bootID: String
  /// nil for downloads.
  var upload: StoredUpload?
  /// The server may have the request of a download, which does harm when it arrives twice. nil: no.
  var isBegun: Bool?

  /// - Parameter seal: Seals for a purpose what an earlier version of the service left in the queue as it is.
  init(
    _ stored: StoredTransfer, of session: StoredSession, bootID: String, seal: (Data, String) -> Data?
  ) throws {
    transfer = stored.head.id
    program = session.executable
    self.session = session.identifier
    judgesConnections = session.judgesConnections
    isSuspended = stored.head.state == .suspended
    created = stored.created
    options = session.options.withoutLogins
    options.httpAdditionalHeaders = nil
    description = stored.description
    description.resumePoint = nil
    SealedFields.remove(from: &description.request)
    (sealedRequest, sealedFields, lacksFields) = (stored.sealedRequest, session.sealedFields, false)
    if let fields = SealedFields(of: stored.description.request) {
      sealedRequest = seal(try MessageFraming.encode(fields), SealedFields.purpose(of: description.token))
      lacksFields = sealedRequest == nil
    }
    if let fields = session.options.httpAdditionalHeaders, !fields.isEmpty {
      sealedFields = seal(
        try MessageFraming.encode(fields), SealedFields.purpose(of: session.executable.path, session.identifier))
      lacksFields = lacksFields || sealedFields == nil
    }
    sealedPassword = stored.sealedPassword
    response = stored.response
    // The row of an earlier version has them as they are.
    if let headers = response?.headers, !headers.isEmpty {
      response?.sealedHeaders = seal(try MessageFraming.encode(headers), QueueKey.fieldsPurpose(of: transfer))
      response?.headers = []
    }
    validator = stored.validator
    expectedTotal = stored.head.expectedTotal
    committedOffset = stored.head.committedOffset
    self.bootID = bootID
    upload = stored.upload
    isBegun = stored.head.isBegun ? true : nil
  }

  /// Of a task of which nothing has arrived or was sent: it begins with the first byte.
  init(
    newTask id: TransferID, _ description: TransferDescription, sealedRequest: Data?, sealedPassword: Data?,
    program: ExecutableIdentity, session: String, options: SessionOptions, sealedFields: Data?, judgesConnections: Bool,
    created: Date, upload: StoredUpload?
  ) {
    transfer = id
    self.program = program
    self.session = session
    self.options = options
    self.judgesConnections = judgesConnections
    isSuspended = !description.startsImmediately
    self.created = created
    self.description = description
    self.description.resumePoint = nil
    (self.sealedRequest, self.sealedFields, lacksFields) = (sealedRequest, sealedFields, false)
    self.sealedPassword = sealedPassword
    (response, validator, expectedTotal, committedOffset, bootID) = (nil, nil, -1, 0, "")
    self.upload = upload
  }
}
