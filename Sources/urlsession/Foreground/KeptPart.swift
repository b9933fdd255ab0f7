import Foundation

/// The part of a file that an interrupted `get --continue` leaves in a hidden folder beside the destination, and the note
/// that lets the next one go on with it. Held by one program at a time; closed with the program.
final class KeptPart: Sendable {
  private struct Note: Codable {
    /// The URL of the command, which a redirect may have led away from.
    var url: String
    var resumeData: Data
  }

  /// The folder that temporary files go to meanwhile.
  let path: String
  private let descriptor: Int32

  private var notePath: String { path + "/note" }

  /// Makes the folder, or takes the one that is there.
  ///
  /// - Throws: `CommandFailure`: another program has it, or it can't be made or belongs to another user.
  init(of destination: Destination) throws {
    let name = (destination.path as NSString).lastPathComponent
    path = "\(destination.folder)/.\(name).urlsession"
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw CommandFailure.cannotWrite(path, String(cString: strerror(errno)))
    }
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw CommandFailure.cannotWrite(path, String(cString: strerror(errno))) }
    do { try check() } catch {
      close(descriptor)
      throw error
    }
  }

  deinit { close(descriptor) }

  private func check() throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw CommandFailure.cannotWrite(path, "it is another user's, or others may look into it")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw CommandFailure(
        .cannotWrite, "\(path): another program loads this file", advice: "wait for it, or choose another place with -o"
      )
    }
  }

  /// The resume data for `url`; nil when there is none, and then the folder is empty.
  func resumeData(for url: String) -> Data? {
    guard let data = FileManager.default.contents(atPath: notePath),
      let note = try? PropertyListDecoder().decode(Note.self, from: data), note.url == url
    else {
      empty()
      return nil
    }
    return note.resumeData
  }

  /// Notes how to go on. The note is on the disk, or is not there, when this returns.
  func keep(_ resumeData: Data, for url: String) throws {
    do {
      let note = try PropertyListEncoder().encode(Note(url: url, resumeData: resumeData))
      let file = open(notePath + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard file >= 0 else { throw CommandFailure.cannotWrite(notePath, String(cString: strerror(errno))) }
      let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
      try handle.write(contentsOf: note)
      guard fsync(file) == 0, rename(notePath + ".new", notePath) == 0, fsync(descriptor) == 0 else {
        throw CommandFailure.cannotWrite(notePath, String(cString: strerror(errno)))
      }
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure.cannotWrite(notePath, (error as NSError).localizedDescription)
    }
  }

  /// Nothing is kept any more.
  func remove() { try? FileManager.default.removeItem(atPath: path) }

  private func empty() {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
      try? FileManager.default.removeItem(atPath: path + "/" + name)
    }
  }
}
