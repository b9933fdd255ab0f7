extension String {
  /// A text that an app chose, cut for the log.
  var logText: String {
    let limit = 200
    guard utf8.count > limit else { return self }
    // A character that is cut in the middle is shown as damaged.
    return String(decoding: utf8.prefix(limit), as: UTF8.self) + "…"
  }
}
