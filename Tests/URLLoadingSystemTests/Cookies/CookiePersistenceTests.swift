import Foundation
import GRDB
import LoopbackServer
import Synchronization
import SystemServices
import Testing

@testable import URLLoadingSystem

/// Two stores on one folder are what two processes have.
@Suite final class CookiePersistenceTests {
  let folder = NSTemporaryDirectory() + "cookies-" + UUID().uuidString
  var path: String { folder + "/cookies.sqlite" }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func cookie(_ name: String, _ value: String = "v", lasting: TimeInterval? = 1_000) throws -> HTTPCookie {
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value, .domain: ".example.com", .path: "/", .secure: "TRUE", .sameSitePolicy: "lax",
      .comment: "c", .port: "443",
    ]
    properties[.expires] = lasting.map { Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + $0).rounded()) }
    return try #require(HTTPCookie(properties: properties))
  }

  func written(_ storage: HTTPCookieStorage) async {
    await withCheckedContinuation { continuation in storage.whenWritten { continuation.resume() } }
  }

  func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func lastingCookiesAreThereNextTimeAndOthersAreNot() async throws {
    let storage = HTTPCookieStorage(directory: folder)
    let kept = try cookie("kept")
    storage.setCookie(kept)
    storage.setCookie(try cookie("session", lasting: nil))
    await written(storage)
    let next = HTTPCookieStorage(directory: folder)
    #expect(next.cookies == [kept])
    #expect(try mode(path) == 0o600)
    #expect(try mode(path + "-wal") == 0o600)
    #expect(try mode(folder) == 0o700)
    next.deleteCookie(kept)
    await written(next)
    #expect(HTTPCookieStorage(directory: folder).cookies == [])
  }

  /// Cookies of another partition would go along with no request, and be another cookie than the one of the same name.
  @Test func cookiesFromTheDiskGoAlongWithRequests() async throws {
    let url = try #require(URL(string: "https://www.example.com/"))
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("kept"))
    await written(storage)
    let next = HTTPCookieStorage(directory: folder)
    #expect(next.cookies(for: url)?.map(\.name) == ["kept"])
    next.setCookie(try cookie("kept", "new"))
    #expect(next.cookies?.map(\.value) == ["new"])
    next.deleteCookie(try cookie("kept"))
    await written(next)
    #expect(HTTPCookieStorage(directory: folder).cookies == [])
  }

  @Test func aStoreWithNothingToKeepMakesNoFile() async throws {
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("session", lasting: nil))
    #expect(storage.cookies?.count == 1)
    await written(storage)
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test func theOrderOutlivesTheProcess() async throws {
    let storage = HTTPCookieStorage(directory: folder)
    for name in ["c", "a", "b"] { storage.setCookie(try cookie(name)) }
    storage.setCookie(try cookie("c", "new"))
    await written(storage)
    #expect(HTTPCookieStorage(directory: folder).cookies?.map(\.name) == ["c", "a", "b"])
  }

  @Test func changesOfAnotherProcessAreSeenAtOnce() async throws {
    let (one, other) = (HTTPCookieStorage(directory: folder), HTTPCookieStorage(directory: folder))
    one.setCookie(try cookie("first"))
    await written(one)
    #expect(other.cookies?.map(\.name) == ["first"])
    let changes = Mutex(0)
    let observer = NotificationCenter.default.addObserver(
      forName: .NSHTTPCookieManagerCookiesChanged, object: other, queue: nil
    ) { _ in changes.withLock { $0 += 1 } }
    defer { NotificationCenter.default.removeObserver(observer) }
    one.setCookie(try cookie("second"))
    one.setCookie(try cookie("first", "new"))
    await written(one)
    #expect(other.cookies?.map(\.value) == ["new", "v"])
    other.deleteCookie(try cookie("first"))
    await written(other)
    #expect(one.cookies?.map(\.name) == ["second"])
    while changes.withLock({ $0 }) < 2 { await Task.yield() }
  }

  @Test func aFileThatAppearsLaterIsFound() async throws {
    let other = HTTPCookieStorage(directory: folder)
    #expect(other.cookies == [])
    let one = HTTPCookieStorage(directory: folder)
    one.setCookie(try cookie("c"))
    await written(one)
    while other.cookies?.isEmpty != false { try await Task.sleep(for: .milliseconds(20)) }
  }

  @Test func bothProcessesChangesAreKept() async throws {
    let (one, other) = (HTTPCookieStorage(directory: folder), HTTPCookieStorage(directory: folder))
    for number in 0..<20 {
      one.setCookie(try cookie("one\(number)"))
      other.setCookie(try cookie("other\(number)"))
      if number % 5 == 0 { await written(one) }
    }
    await written(one)
    await written(other)
    #expect(HTTPCookieStorage(directory: folder).cookies?.count == 40)
    #expect(one.cookies?.count == 40)
    #expect(other.cookies?.count == 40)
  }

  @Test func aDamagedFileIsSetAside() async throws {
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("old"))
    await written(storage)
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    try Data(repeating: 0x55, count: 8_192).write(to: URL(fileURLWithPath: path))
    let next = HTTPCookieStorage(directory: folder)
    #expect(next.cookies == [])
    next.setCookie(try cookie("new"))
    await written(next)
    #expect(HTTPCookieStorage(directory: folder).cookies?.map(\.name) == ["new"])
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(names.contains { $0.hasPrefix("cookies.sqlite.damaged-") })
  }

  /// Such values end the process where rows are read by GRDB's subscript.
  @Test(arguments: [
    "UPDATE cookies SET stored = 'yesterday'", "UPDATE cookies SET created = x'00'", "UPDATE cookies SET contents = 5",
    "UPDATE cookies SET domain = x'ff'", "DELETE FROM revisions", "UPDATE revisions SET last = 'many'",
    "UPDATE revisions SET forgotten = x'00'",
  ])
  func valuesOfAnotherTypeAreDamage(change: String) async throws {
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("old"))
    await written(storage)
    try await CookieTable.open(path).write { try $0.execute(sql: change) }
    let next = HTTPCookieStorage(directory: folder)
    #expect(next.cookies == [])
    next.setCookie(try cookie("new"))
    await written(next)
    #expect(HTTPCookieStorage(directory: folder).cookies?.map(\.name) == ["new"])
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(names.contains { $0.hasPrefix("cookies.sqlite.damaged-") })
  }

  /// The next cookie comes behind it.
  @Test(arguments: [Int64.max, .min]) func theAgeOfACookieMayBeAnyNumber(created: Int64) async throws {
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("old"))
    await written(storage)
    try await CookieTable.open(path).write { try $0.execute(sql: "UPDATE cookies SET created = \(created)") }
    let next = HTTPCookieStorage(directory: folder)
    #expect(next.cookies?.map(\.name) == ["old"])
    next.setCookie(try cookie("new"))
    await written(next)
    #expect(HTTPCookieStorage(directory: folder).cookies?.map(\.name) == ["old", "new"])
  }

  @Test func processesFindEachOtherInAFolderThatWasRemoved() async throws {
    let (one, other) = (HTTPCookieStorage(directory: folder), HTTPCookieStorage(directory: folder))
    one.setCookie(try cookie("first"))
    await written(one)
    #expect(other.cookies?.map(\.name) == ["first"])
    try FileManager.default.removeItem(atPath: folder)
    // What is in memory is written again.
    one.setCookie(try cookie("second"))
    await written(one)
    #expect(HTTPCookieStorage(directory: folder).cookies?.map(\.name) == ["first", "second"])
    #expect(one.cookies?.map(\.name) == ["first", "second"])
    while other.cookies?.count != 2 { try await Task.sleep(for: .milliseconds(20)) }
    other.setCookie(try cookie("third"))
    await written(other)
    #expect(one.cookies?.map(\.name) == ["first", "second", "third"])
  }

  @Test func aCounterThatIsEmptiedOrRemovedIsBegunAgain() async throws {
    let (one, other) = (HTTPCookieStorage(directory: folder), HTTPCookieStorage(directory: folder))
    one.setCookie(try cookie("first"))
    await written(one)
    #expect(other.cookies?.count == 1)
    try #require(truncate(folder + "/cookies.changes", 0) == 0)
    #expect(one.cookies?.count == 1)
    other.setCookie(try cookie("second"))
    await written(other)
    #expect(one.cookies?.count == 2)
    try FileManager.default.removeItem(atPath: folder + "/cookies.changes")
    one.setCookie(try cookie("third"))
    await written(one)
    #expect(other.cookies?.count == 3)
  }

  @Test func aReadThatFailsIsTriedAgain() async throws {
    let (one, other) = (HTTPCookieStorage(directory: folder), HTTPCookieStorage(directory: folder))
    one.setCookie(try cookie("first"))
    await written(one)
    #expect(other.cookies?.map(\.name) == ["first"])
    one.setCookie(try cookie("second"))
    await written(one)
    let disk = try DatabaseQueue(path: path)
    try await disk.write { try $0.execute(sql: "ALTER TABLE cookies RENAME TO hidden") }
    #expect(other.cookies?.map(\.name) == ["first"])
    try await disk.write { try $0.execute(sql: "ALTER TABLE hidden RENAME TO cookies") }
    try await eventually("the file is read") { other.cookies?.map(\.name) == ["first", "second"] }
  }

  @Test func aWriteThatFailsIsTriedAgain() async throws {
    try Data().write(to: URL(fileURLWithPath: folder))
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("c"))
    await written(storage)
    try FileManager.default.removeItem(atPath: folder)
    try await eventually("the cookie is on the disk") {
      HTTPCookieStorage(directory: folder).cookies?.map(\.name) == ["c"]
    }
  }

  @Test func aProcessThatKeepsTheCountersLockKeepsNoCookieFromTheDisk() async throws {
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("first"))
    await written(storage)
    let descriptor = open(folder + "/cookies.changes", O_RDWR | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    storage.setCookie(try cookie("second"))
    await written(storage)
    #expect(HTTPCookieStorage(directory: folder).cookies?.map(\.name) == ["first", "second"])
  }

  /// The file is damaged, but the process that finds that has the cookies in memory.
  @Test func cookiesInMemoryOutliveTheDamageOfTheirFile() async throws {
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("kept"))
    await written(storage)
    #expect(storage.cookies?.count == 1)
    try await DatabaseQueue(path: path).write { try $0.execute(sql: "UPDATE revisions SET last = 'many'") }
    try SharedCounter(path: folder + "/cookies.changes").increment()
    #expect(storage.cookies?.map(\.name) == ["kept"])
    // Another process begins the next file.
    let other = HTTPCookieStorage(directory: folder)
    other.setCookie(try cookie("new"))
    await written(other)
    await written(storage)
    #expect(Set(HTTPCookieStorage(directory: folder).cookies?.map(\.name) ?? []) == ["kept", "new"])
  }

  @Test func aFolderThatCannotBeMadeLeavesCookiesInMemory() async throws {
    let storage = HTTPCookieStorage(directory: "/proc/no-such-folder/cookies")
    storage.setCookie(try cookie("c"))
    await written(storage)
    #expect(storage.cookies?.map(\.name) == ["c"])
  }

  @Test func expiredCookiesAreNotRead() async throws {
    let storage = HTTPCookieStorage(directory: folder)
    storage.setCookie(try cookie("short", lasting: 1))
    storage.setCookie(try cookie("long"))
    await written(storage)
    while storage.cookies?.count == 2 { try await Task.sleep(for: .milliseconds(50)) }
    #expect(HTTPCookieStorage(directory: folder).cookies?.map(\.name) == ["long"])
  }
}
