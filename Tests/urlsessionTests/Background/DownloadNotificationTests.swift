import Foundation
import LoopbackServer
import RealServers
import Testing

@testable import urlsession

/// The messages on the desktop.
struct DownloadNotificationTests {
  private func notification(
    _ outcome: DownloadRecord.Outcome, _ change: (inout DownloadRecord) -> Void = { _ in }
  ) -> DownloadNotification? {
    DownloadNotification(
      Sample.record(outcome) {
        $0.notifies = true
        change(&$0)
      })
  }

  @Test func tellsHowADownloadEnded() {
    let saved = notification(.saved) { $0.path = "/home/me/file.iso" }
    #expect(saved?.summary == "Downloaded file.iso" && saved?.body == "In /home/me" && saved?.isFailure == false)
    let elsewhere = notification(.savedElsewhere) {
      $0.path = "/rescue/file.iso"
      $0.message = "The disk is full."
    }
    #expect(elsewhere?.body == "It is safe at /rescue/file.iso: The disk is full.")
    let refused = notification(.httpError) { $0.httpStatus = 404 }
    #expect(refused?.summary == "Could not download file" && refused?.isFailure == true)
    #expect(refused?.body == "The server answered with the status 404.")
    #expect(notification(.failed) { $0.message = "No route." }?.body == "No route.")
    for outcome in [DownloadRecord.Outcome.queued, .placing, .cancelled] { #expect(notification(outcome) == nil) }
  }

  @Test func tellsHowAnUploadEnded() {
    func upload(
      _ outcome: DownloadRecord.Outcome, _ change: (inout DownloadRecord) -> Void = { _ in }
    ) -> DownloadNotification? {
      notification(outcome) {
        $0.isUpload = true
        $0.destination = Destination(path: "/home/me/report.pdf", isFolder: false)
        change(&$0)
      }
    }
    let sent = upload(.saved)
    #expect(sent?.summary == "Sent report.pdf" && sent?.body == "To example.com" && sent?.isFailure == false)
    let refused = upload(.httpError) { $0.httpStatus = 413 }
    #expect(refused?.summary == "Could not send report.pdf" && refused?.isFailure == true)
    let failed = upload(.failed) { $0.message = "No route." }
    #expect(failed?.summary == "Could not send report.pdf" && failed?.body == "No route.")
    #expect(upload(.cancelled) == nil)
  }

  @Test func isShownOnlyWhereItIsWanted() {
    #expect(notification(.saved) { $0.notifies = nil } == nil)
    #expect(notification(.saved) { $0.notifies = false } == nil)
    #expect(DownloadNotification.isWanted([:]))
    #expect(DownloadNotification.isWanted(["URLSESSION_NOTIFY": "1"]))
    #expect(!DownloadNotification.isWanted(["URLSESSION_NOTIFY": "0"]))
  }

  /// The program that the service starts at the end shows it; one that was told not to shows none.
  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func theDesktopIsToldInTheBackground() async throws {
    let desktop = try await MockNotifications.start()
    let sandbox = try Sandbox()
    let server = try await LoopbackServer.start { _ in Reply.ok("content") }
    let session = ["DBUS_SESSION_BUS_ADDRESS": desktop.address]
    for (name, option) in [("quiet", "--no-notify"), ("loud", "--notify")] {
      let started = try await sandbox.run(
        "download", server.url("/x").absoluteString, "-o", name, option, variables: session)
      #expect(started.status == 0, "\(started.errors)")
    }
    // Another process shows it, and what it wrote is all there is to see.
    try await eventually("the message", every: .milliseconds(20)) { desktop.log.contains("Downloaded loud") }
    #expect(desktop.log.contains("In \(sandbox.work)"))
    #expect(try await sandbox.run("wait", "1", "2").status == 0)
    #expect(!desktop.log.contains("Downloaded quiet"))
    await desktop.stop()
  }

  /// The end may come to the command that asked for the download, which then shows it.
  @Test(.enabled(if: MessageBusMock.runsHere, "\(MessageBusMock.advice)"))
  func theCommandThatHearsOfTheEndTellsTheDesktop() async throws {
    let desktop = try await MockNotifications.start()
    let sandbox = try Sandbox()
    let server = try await LoopbackServer.start { _ in Reply.ok("content") }
    let ended = try await sandbox.run(
      "download", server.url("/x").absoluteString, "-o", "loud", "--wait", "--notify",
      variables: ["DBUS_SESSION_BUS_ADDRESS": desktop.address])
    #expect(ended.status == 0, "\(ended.errors)")
    try await eventually("the message", every: .milliseconds(20)) { desktop.log.contains("Downloaded loud") }
    await desktop.stop()
  }
}
