import Foundation
import SystemFakes
import Testing

@testable import SystemServices

@Suite struct FileSecretStoreTests {
  private static let ada = SecretAttributes([.server: "example.org", .port: "443", .realm: "r", .user: "ada"])
  private static let bob = SecretAttributes([.server: "example.org", .port: "443", .realm: "r", .user: "bob"])

  private func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "secrets-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
  }

  private func mode(_ path: String) throws -> mode_t {
    var status = stat()
    try #require(lstat(path, &status) == 0)
    return status.st_mode & 0o7777
  }

  @Test func secretsAreFoundAgain() async throws {
    try await withFolder { folder in
      let store = FileSecretStore(path: folder + "/state/secrets")
      #expect(try await store.find(Self.ada).isEmpty)
      try await store.store(SecretBytes("hunter2"), for: Self.ada)
      try await store.store(SecretBytes(""), for: Self.bob)
      // Another process has another object.
      let other = FileSecretStore(path: folder + "/state/secrets")
      #expect(try await other.find(Self.ada) == [SecretItem(attributes: Self.ada, secret: SecretBytes("hunter2"))])
      #expect(try await other.find(SecretAttributes([.server: "example.org"])).count == 2)
      #expect(try await other.list() == [Self.ada, Self.bob])
      #expect(try mode(folder + "/state/secrets") == 0o600)
      #expect(try mode(folder + "/state") == 0o700)
    }
  }

  @Test func secretOfTheSameAttributesIsReplaced() async throws {
    try await withFolder { folder in
      let store = FileSecretStore(path: folder + "/secrets")
      try await store.store(SecretBytes("one"), for: Self.ada)
      var wider = Self.ada
      wider[.realm] = nil
      try await store.store(SecretBytes("of no realm"), for: wider)
      try await store.store(SecretBytes("two"), for: Self.ada)
      #expect(try await store.find(Self.ada).map { $0.secret.text() } == ["two"])
      var ofNoRealm = wider
      ofNoRealm[.realm] = ""
      #expect(try await store.find(ofNoRealm).map { $0.secret.text() } == ["of no realm"])
    }
  }

  @Test func removedSecretsAreGone() async throws {
    try await withFolder { folder in
      let store = FileSecretStore(path: folder + "/secrets")
      try await store.store(SecretBytes("hunter2"), for: Self.ada)
      try await store.store(SecretBytes("swordfish"), for: Self.bob)
      #expect(try await store.remove(Self.ada) == 1)
      #expect(try await store.remove(Self.ada) == 0)
      #expect(try await store.list() == [Self.bob])
      let file = try Data(contentsOf: URL(fileURLWithPath: folder + "/secrets"))
      #expect(file.range(of: Data("hunter2".utf8)) == nil)
    }
  }

  @Test func changesOfManyAtOnceAreAllKept() async throws {
    try await withFolder { folder in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<20 {
          group.addTask {
            let store = FileSecretStore(path: folder + "/secrets", limit: .seconds(90))
            try await store.store(SecretBytes("s\(number)"), for: SecretAttributes([.user: "u\(number)"]))
          }
        }
        try await group.waitForAll()
      }
      #expect(try await FileSecretStore(path: folder + "/secrets").list().count == 20)
    }
  }

  @Test func fileThatOthersCanReadIsRefused() async throws {
    try await withFolder { folder in
      let path = folder + "/secrets"
      let store = FileSecretStore(path: path)
      try await store.store(SecretBytes("hunter2"), for: Self.ada)
      chmod(path, 0o640)
      await expectRefusal(by: store, "open to other users (mode 640)")
      chmod(path, 0o600)
      chmod(folder, 0o755)
      await expectRefusal(by: store, "open to other users (mode 755)")
    }
  }

  @Test func linkAndFolderAreRefused() async throws {
    try await withFolder { folder in
      mkdir(folder, 0o700)
      symlink("/dev/null", folder + "/link")
      await expectRefusal(by: FileSecretStore(path: folder + "/link"), "symbolic link")
      mkdir(folder + "/folder", 0o700)
      await expectRefusal(by: FileSecretStore(path: folder + "/folder"), "is not a file")
    }
  }

  private func expectRefusal(by store: FileSecretStore, _ text: String) async {
    for operation in ["find", "store"] {
      let error = await #expect(throws: SecretStoreUnavailable.self) {
        if operation == "find" {
          _ = try await store.find(Self.ada)
        } else {
          try await store.store(SecretBytes("new"), for: Self.ada)
        }
      }
      #expect(error?.description.contains(text) == true, "\(error as Any)")
    }
  }

  @Test func takenLockIsWaitedForWithinTheLimit() async throws {
    try await withFolder { folder in
      try PrivateDirectory.ensure(folder)
      let lock = try #require(try FileLock.acquire(folder + "/secrets.lock"))
      let store = FileSecretStore(path: folder + "/secrets", limit: .milliseconds(50))
      let error = await #expect(throws: SecretStoreUnavailable.self) {
        try await store.store(SecretBytes("hunter2"), for: Self.ada)
      }
      #expect(error?.reason == .expired(.milliseconds(50)))
      withExtendedLifetime(lock) {}
    }
  }

  @Test(arguments: [FaultyFileSystem.Operation.open, .write, .sync, .rename])
  func failedReplacementKeepsTheOldFile(_ operation: FaultyFileSystem.Operation) async throws {
    try await withFolder { folder in
      let path = folder + "/secrets"
      try await FileSecretStore(path: path).store(SecretBytes("hunter2"), for: Self.ada)
      let disk = FaultyFileSystem()
      disk.set([.init(operation, code: ENOSPC)])
      let full = FileSecretStore(path: path, files: disk)
      await #expect(throws: SecretStoreUnavailable.self) { try await full.store(SecretBytes("new"), for: Self.bob) }
      #expect(try await FileSecretStore(path: path).list() == [Self.ada])
      // What is left behind, open to all at worst, does not become the file.
      #expect(FileManager.default.createFile(atPath: path + ".new", contents: Data("left behind".utf8)))
      chmod(path + ".new", 0o666)
      try await FileSecretStore(path: path).store(SecretBytes("new"), for: Self.bob)
      #expect(try await FileSecretStore(path: path).list() == [Self.ada, Self.bob])
      #expect(try mode(path) == 0o600)
    }
  }

  @Test func powerFailureLeavesTheOldFileOrTheNewOne() async throws {
    var counts: Set<Int> = []
    for operations in 0..<8 {
      try await withFolder { folder in
        let path = folder + "/secrets"
        try await FileSecretStore(path: path).store(SecretBytes("hunter2"), for: Self.ada)
        let disk = FaultyFileSystem()
        disk.switchOff(afterOperations: operations)
        let isStored: Bool
        do {
          try await FileSecretStore(path: path, files: disk).store(SecretBytes("new"), for: Self.bob)
          isStored = true
        } catch is SecretStoreUnavailable {
          isStored = false
        }
        if !disk.isOff { disk.switchOff() }
        let count = try await FileSecretStore(path: path).list().count
        #expect(isStored ? count == 2 : (1...2).contains(count))
        counts.insert(count)
      }
    }
    #expect(counts == [1, 2])
  }

  static let damaged: [[UInt8]] = [
    [], Array("URLSecr".utf8), Array("URLSecr2".utf8), SecretFileFormat.signature + [1],
    SecretFileFormat.signature + [0, 0, 0, 0], SecretFileFormat.signature + [0, 0xff, 0xff, 0xff, 0xff],
    SecretFileFormat.signature + [1, 1, 0xff, 0, 0, 0, 0, 0, 0, 0, 0],
    SecretFileFormat.signature + [1, 1, 0x61, 0, 0, 0, 9, 0x61],
  ]

  @Test(arguments: damaged)
  func damagedFileIsAnError(_ bytes: [UInt8]) async throws {
    try await withFolder { folder in
      try PrivateDirectory.ensure(folder)
      let path = folder + "/secrets"
      #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
      chmod(path, 0o600)
      let error = await #expect(throws: SecretStoreUnavailable.self) { try await FileSecretStore(path: path).list() }
      #expect(error?.reason == .damagedFile(path))
    }
  }

  @Test(
    arguments: [
      ([:], false), (["URLSESSION_SECRETS_FILE": ""], false), (["URLSESSION_SECRETS_FILE": "secrets"], false),
      (["URLSESSION_SECRETS_FILE": "/folder/"], false), (["URLSESSION_SECRETS_FILE": "/folder/secrets"], true),
    ] as [([String: String], Bool)])
  func onlyAnAbsolutePathInTheEnvironmentCounts(_ environment: [String: String], _ counts: Bool) {
    #expect((FileSecretStore(environment: environment) != nil) == counts)
  }
}
