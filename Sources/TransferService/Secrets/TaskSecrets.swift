import Foundation
import SystemServices
import TransferProtocol

/// The parts of a task that the queue may not have in clear: the password of its URL, and the values of fields with which
/// the app authenticates the request by itself.
struct TaskSecrets: Codable, Sendable, Equatable {
  /// A field and its place in the request's list.
  struct Field: Codable, Sendable, Equatable {
    var index: Int
    var field: HeaderField
  }

  /// As it stood in the URL.
  var password: String?
  var fields: [Field] = []

  init(password: String) { self.password = password }

  /// Takes the secrets out of a task as the app describes it; what is left names the fields that are missing.
  init(takenFrom task: inout TransferDescription) {
    let parts = PasswordURL(task.request.url)
    password = parts.password
    task.request.url = parts.url
    task.request.mainDocumentURL = task.request.mainDocumentURL.map { PasswordURL($0).url }
    if let point = task.resumePoint { task.resumePoint?.url = PasswordURL(point.url).url }
    fields = task.request.headers.enumerated().filter { $1.isSecret }.map { Field(index: $0, field: $1) }
    task.request.headers.removeAll { $0.isSecret }
    task.sealedFields = fields.isEmpty ? nil : fields.map(\.field.name)
  }

  var isEmpty: Bool { password == nil && fields.isEmpty }

  /// The fields of the request as the app had set them.
  func restored(_ headers: [HeaderField]) -> [HeaderField] {
    var restored = headers
    for field in fields { restored.insert(field.field, at: min(max(field.index, 0), restored.count)) }
    return restored
  }

  // MARK: Encoding

  func encoded() throws -> SecretBytes {
    try MessageFraming.encode(self).withUnsafeBytes { SecretBytes(copying: $0) }
  }

  /// nil where `secret` is something else.
  init?(_ secret: SecretBytes) {
    let decoded = secret.withBytes { try? MessageFraming.decode(TaskSecrets.self, from: Data($0)) }
    guard let decoded else { return nil }
    self = decoded
  }
}

extension HeaderField {
  /// Whether the value lets a request in by itself.
  var isSecret: Bool { HeaderField.secretNames.contains(name.lowercased()) }

  private static let secretNames: Set<String> = ["authorization", "proxy-authorization", "cookie"]
}
