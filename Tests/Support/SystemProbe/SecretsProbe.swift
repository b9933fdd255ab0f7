import SystemServices

/// Keeps and finds secrets as lines of standard input say; prints one line for each.
struct SecretsProbe {
  private let store: any SecretStore

  /// Options: `limit` of a call and of a prompt in milliseconds; `asks=no` asks the user nothing.
  init(_ options: [String: String]) {
    let limit = Duration.milliseconds(options["limit"].flatMap { Int($0) } ?? 90_000)
    store = SecretServiceStore(limit: limit, promptLimit: limit, asksUser: options["asks"] != "no")
  }

  /// Prints the kind of store that the user's secrets go into.
  func chooseStore() async {
    SystemProbe.say(await UserSecrets.store().map { "\(type(of: $0))" } ?? "none")
  }

  /// `store ATTRIBUTES SECRET`, `find ATTRIBUTES`, `remove ATTRIBUTES`, `list ATTRIBUTES`; attributes are `name=value`
  /// with commas between them, or `-` for none.
  func obeyCommands() async {
    while let line = readLine() {
      let words = line.split(separator: " ", maxSplits: 2).map { String($0) }
      do {
        SystemProbe.say(try await obey(words))
      } catch {
        SystemProbe.say("error: \(error)")
      }
    }
  }

  private func obey(_ words: [String]) async throws -> String {
    let wanted = attributes(words.count > 1 ? words[1] : "-")
    switch words.first {
    case "store":
      try await store.store(SecretBytes(words.count > 2 ? words[2] : ""), for: wanted)
      return "stored"
    case "find":
      let items = try await store.find(wanted)
      return items.map { "\($0.attributes): \($0.secret.text() ?? "?")" }.sorted().joined(separator: "; ")
    case "remove": return "removed \(try await store.remove(wanted))"
    default: return try await store.list(wanted).map { "\($0)" }.sorted().joined(separator: "; ")
    }
  }

  private func attributes(_ text: String) -> SecretAttributes {
    var attributes = SecretAttributes()
    for pair in text.split(separator: ",") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
      if parts.count == 2, let name = SecretAttributes.Name(rawValue: parts[0]) { attributes[name] = parts[1] }
    }
    return attributes
  }
}
