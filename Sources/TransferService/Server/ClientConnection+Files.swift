import Foundation
import NIOCore
import SystemServices
import TransferProtocol

/// The open files of requests. SwiftNIO's channels read bytes only, and would lose what comes with them. So the app announces
/// its files, the loop stops reading, the app is asked for them, and they are received beside the channel.
extension ClientConnection {
  struct AwaitedFiles {
    let message: ClientMessage
    let count: Int
    let share: PassedFiles.Share
    let receiver: FileReceiver
    let timer: Scheduled<Void>
  }

  /// Asks the app for the files of a request, which is carried out once they are here.
  ///
  /// - Throws: `ConnectionFiles.Fault`.
  func awaitFiles(_ count: Int, of message: ClientMessage) throws {
    channel.eventLoop.assertInEventLoop()
    let share: PassedFiles.Share
    do { share = try files.reserve(count) } catch let exceeded as ConnectionQuota.Exceeded {
      return refuseFiles(of: message, because: "\(exceeded)")
    }
    let descriptor = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      fcntl($0, F_DUPFD_CLOEXEC, 3)
    }
    guard let descriptor, descriptor >= 0 else {
      return refuseFiles(of: message, because: "the service has too many open files")
    }
    let receiver = FileReceiver(descriptor) { [weak self] result in
      guard let self else { return }
      channel.eventLoop.execute { self.filesArrived(result) }
    }
    let timer = channel.eventLoop.scheduleTask(in: limits.timeForMessage) { [weak self] () -> Void in
      self?.closeFaulty(because: "it did not send the open files of a request")
    }
    awaitedFiles = AwaitedFiles(message: message, count: count, share: share, receiver: receiver, timer: timer)
    // In a later turn: in this one the channel may read once more.
    channel.eventLoop.execute { self.send(.push(.sendFiles(FilesWanted(request: message.id)))) }
  }

  private func filesArrived(_ result: Result<[SourceFile], any Error>) {
    channel.eventLoop.assertInEventLoop()
    guard let awaited = awaitedFiles else { return }
    dropAwaitedFiles()
    switch result {
    // The channel finds out that the connection has ended.
    case .failure(let error): closeFaulty(because: "its open files can't be received: \(error)")
    case .success(let received) where received.count > awaited.count:
      closeFaulty(because: "it sent \(received.count) open files and had announced \(awaited.count)")
    case .success(let received) where received.count < awaited.count:
      refuseFiles(of: awaited.message, because: "some could not be passed, since too many files are open")
      readOn()
    case .success(let received):
      files.keep(PassedFiles(received, share: awaited.share), of: awaited.message.id)
      engine.received(awaited.message, from: self)
      readOn()
    }
  }

  func dropAwaitedFiles() {
    channel.eventLoop.assertInEventLoop()
    awaitedFiles?.receiver.cancel()
    awaitedFiles?.timer.cancel()
    awaitedFiles = nil
  }

  /// The app may ask again later.
  private func refuseFiles(of message: ClientMessage, because reason: String) {
    log.notice("open files of process \(peer.process.pid) were refused for now: \(reason)")
    send(.reply(to: message.id, .refused(Refusal(.storage, "The files can't be taken over now: \(reason)."))))
  }
}
