/// The names of files and folders that are not complete yet, beside what they become.
enum HiddenName {
  /// For `mkstemp` and `mkdtemp`, which put random characters in the place of the last six.
  static func template(in folder: String) -> [CChar] { Array("\(folder)/.urlsession-XXXXXX".utf8CString) }

  /// The name that was made of a template.
  static func path(_ template: [CChar]) -> String {
    String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
