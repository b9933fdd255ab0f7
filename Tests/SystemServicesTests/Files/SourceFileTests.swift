import Foundation
import SystemServices
import Testing

@Suite struct SourceFileTests {
  private let folder = NSTemporaryDirectory() + "source-\(UUID().uuidString.prefix(8))"

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  private func file(_ text: String, _ name: String = "file") throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    return "\(folder)/\(name)"
  }

  private func end() { try? FileManager.default.removeItem(atPath: folder) }

  @Test func bytesBeyondALengthOfZeroAreNoticed() throws {
    defer { end() }
    #expect(try SourceFile.open("/proc/self/status").hasUntoldBytes())
    for text in ["", "abc"] { #expect(try !SourceFile.open(file(text)).hasUntoldBytes()) }
  }

  /// To open a named pipe waits for a writer, and to open a device does something to it.
  @Test func onlyRegularFilesAreOpened() throws {
    defer { end() }
    #expect(mkfifo("\(folder)/pipe", 0o600) == 0)
    let kinds = [("\(folder)/none", ENOENT), (folder, EISDIR), ("\(folder)/pipe", EINVAL), ("/dev/null", EINVAL)]
    for (path, code) in kinds {
      let error = #expect(throws: SystemError.self, "\(path)") { _ = try SourceFile.open(path) }
      #expect(error?.code == code, "\(path)")
    }
    let opened = try SourceFile.open(file("abc"))
    #expect(fcntl(opened.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(opened.isOpenForReading && opened.mount != nil)
  }

  /// A place can be opened without the permission to read the file: with O_PATH.
  @Test(arguments: [(O_WRONLY, false), (0o10000000, false), (O_RDWR, true), (O_RDONLY, true)])
  func aDescriptorSaysWhetherItsBytesMayBeRead(flags: Int32, mayBeRead: Bool) throws {
    defer { end() }
    let descriptor = open(try file("abc"), flags | O_CLOEXEC)
    try #require(descriptor >= 0)
    #expect(SourceFile(owning: descriptor).isOpenForReading == mayBeRead)
  }

  @Test func bytesAreCompared() throws {
    defer { end() }
    let text = String(repeating: "x", count: 3 << 20)
    let one = try SourceFile.open(file(text, "1"))
    for (other, isSame) in [(text, true), (text + "y", false), (text.dropLast() + "y", false), ("", false)] {
      #expect(try SourceFile.open(file(String(other), "2")).hasBytes(of: one) == isSame)
    }
  }

  // MARK: Copies

  /// The first bytes, however long the file has become; and the offset belongs to the process that opened the file.
  @Test(arguments: [(0, 0), (2, 2), (3, 3), (9, 3)] as [(Int64, Int64)])
  func aCopyHasNoMoreThanItsCount(count: Int64, copied: Int64) throws {
    defer { end() }
    let source = try SourceFile.open(file("abc"))
    #expect(lseek(source.descriptor, 1, SEEK_SET) == 1)
    #expect(try LinuxFileSystem().duplicate(source, count: count, to: "\(folder)/copy") == copied)
    #expect(FileManager.default.contents(atPath: "\(folder)/copy") == Data("abc".utf8.prefix(Int(copied))))
    #expect(lseek(source.descriptor, 0, SEEK_CUR) == 1)
  }

  /// It says nothing against the place of the copy.
  @Test func aSourceThatCanNotBeReadIsSaidToBeTheFault() throws {
    defer { end() }
    let source = SourceFile(owning: open(try file("abc"), O_WRONLY | O_CLOEXEC))
    let error = #expect(throws: SystemError.self) {
      _ = try LinuxFileSystem().duplicate(source, count: 3, to: "\(folder)/copy")
    }
    #expect(error?.path == nil && error?.code == EBADF)
    #expect(!FileManager.default.fileExists(atPath: "\(folder)/copy"))
  }

  // MARK: Passing

  private func pair() throws -> (SourceFile, SourceFile) {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    return (SourceFile(owning: ends[0]), SourceFile(owning: ends[1]))
  }

  /// Also where their names are gone.
  @Test func filesArriveInTheirOrder() throws {
    defer { end() }
    let (here, there) = try pair()
    #expect(try FilePassing.receive(over: there.descriptor) == nil, "nothing has come")
    let sent = try (0..<FilePassing.mostFiles).map { try SourceFile.open(file("\($0)", "\($0)")) }
    end()
    try FilePassing.send(sent, over: here.descriptor)
    let received = try #require(try FilePassing.receive(over: there.descriptor))
    #expect(received.count == sent.count)
    for (one, other) in zip(sent, received) {
      #expect(one.descriptor != other.descriptor)
      #expect(try other.hasBytes(of: one))
      #expect(fcntl(other.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
  }

  @Test func aByteMayComeWithoutFilesAndTheEndIsAnError() throws {
    defer { end() }
    var (here, there): (SourceFile?, SourceFile?) = (nil, nil)
    (here, there) = try pair()
    let receiver = try #require(there)
    try FilePassing.send([], over: try #require(here).descriptor)
    #expect(try FilePassing.receive(over: receiver.descriptor)?.isEmpty == true)
    here = nil
    let error = #expect(throws: SystemError.self) { _ = try FilePassing.receive(over: receiver.descriptor) }
    #expect(error?.code == ECONNRESET)
  }
}
