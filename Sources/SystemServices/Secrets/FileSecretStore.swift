import Foundation

/// Secrets in a file, for machines without a Secret Service whose user asked for it: the environment variable
/// `URLSESSION_SECRETS_FILE` has the file's absolute path. The file is not encrypted. It has mode 0600, in a folder that
/// only the user can enter; a file or folder that others can read is refused.
///
/// Several processes can use it at the same time: a change takes the lock `PATH.lock`, and replaces the file as a whole.
package struct FileSecretStore: SecretStore {
  package static let variable = "URLSESSION_SECRETS_FILE"

  private static let calls = BlockingCalls(name: "secret-file", width: 2)
  /// Above this it is not one of ours.
  private static let sizeLimit = 64 << 20

  private let file: ReplacedFile
  private let limit: Duration
  private var path: String { file.path }

  /// - Parameter path: the file, absolute. It is made with the first secret, and its folder too.
  package init(path: String, files: any DurableFileSystem = LinuxFileSystem(), limit: Duration = .seconds(10)) {
    file = ReplacedFile(path: path, files: files, limit: limit)
    self.limit = limit
  }

  /// The file that the environment names; nil when it names none with an absolute path.
  package init?(environment: [String: String]) {
    guard let path = environment[Self.variable], path.hasPrefix("/"), !path.hasSuffix("/") else { return nil }
    self.init(path: path)
  }

  package func find(_ attributes: SecretAttributes) async throws -> [SecretItem] {
    try await perform { try read().filter { $0.attributes.matches(attributes) } }
  }

  package func store(_ secret: SecretBytes, for attributes: SecretAttributes) async throws {
    let item = SecretItem(attributes: SecretAttributes(ofItem: attributes.present), secret: secret)
    _ = try await change { items in
      items.removeAll { $0.attributes == item.attributes }
      items.append(item)
      return 1
    }
  }

  package func remove(_ attributes: SecretAttributes) async throws -> Int {
    try await change { items in
      let before = items.count
      items.removeAll { $0.attributes.matches(attributes) }
      return before - items.count
    }
  }

  package func list(_ attributes: SecretAttributes) async throws -> [SecretAttributes] {
    try await find(attributes).map(\.attributes)
  }

  /// - Parameter body: changes the items; returns how many, and 0 leaves the file alone.
  private func change(_ body: @escaping @Sendable (inout [SecretItem]) -> Int) async throws -> Int {
    try await perform {
      try PrivateDirectory.ensure(file.folder)
      return try file.withLock {
        var items = try read()
        let count = body(&items)
        if count > 0 { try SecretFileFormat.file(of: items).withBytes { try file.replace(with: $0) } }
        return count
      }
    }
  }

  private func perform<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    do {
      return try await Self.calls.run(within: limit, work)
    } catch let refusal as PrivateDirectory.Refusal {
      throw SecretStoreUnavailable(.untrustedFile("\(refusal)"))
    } catch let expired as BlockingCalls.Expired {
      throw SecretStoreUnavailable(.expired(expired.limit))
    } catch let error as SystemError {
      throw SecretStoreUnavailable(.failed("\(error)"))
    } catch is SecretFileFormat.Damaged {
      throw SecretStoreUnavailable(.damagedFile(path))
    }
  }

  // MARK: On a thread of its own

  /// None when there is no file.
  private func read() throws -> [SecretItem] {
    let descriptor: Int32
    do {
      try PrivateDirectory.check(file.folder)
      descriptor = try checked("open", path: path) { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    } catch let error as SystemError where error.isNotFound {
      return []
    } catch let error as SystemError where error.code == ELOOP {
      throw SecretStoreUnavailable(.untrustedFile("\(path) is a symbolic link"))
    }
    defer { _ = close(descriptor) }
    var status = stat()
    _ = try checked("fstat", path: path) { fstat(descriptor, &status) }
    try check(status)
    let content = try SecretBytes(capacity: Int(status.st_size)) { buffer in
      var count = 0
      while count < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        let part = try checked("read", path: path) { Glibc.read(descriptor, rest.baseAddress, rest.count) }
        if part == 0 { break }
        count += part
      }
      return count
    }
    return try content.withBytes { try SecretFileFormat.items(in: $0) }
  }

  private func check(_ status: stat) throws {
    let problem: String? =
      if status.st_mode & S_IFMT != S_IFREG {
        "\(path) is not a file"
      } else if status.st_uid != geteuid() {
        "\(path) belongs to user \(status.st_uid), not to us"
      } else if status.st_mode & 0o077 != 0 {
        "\(path) is open to other users (mode \(String(status.st_mode & 0o7777, radix: 8))); make it 0600"
      } else {
        nil
      }
    if let problem { throw SecretStoreUnavailable(.untrustedFile(problem)) }
    guard (0...Self.sizeLimit).contains(Int(status.st_size)) else { throw SecretFileFormat.Damaged() }
  }
}
