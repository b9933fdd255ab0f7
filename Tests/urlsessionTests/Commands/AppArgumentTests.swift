import Foundation
import LoopbackServer
import Testing

@testable import urlsession

struct AppArgumentTests {
  @Test func aLinkLeadsToTheProgram() throws {
    let folder = TemporaryFolder()
    let (program, link) = (folder.path + "/program", folder.path + "/link")
    try Data().write(to: URL(fileURLWithPath: program))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: program)
    #expect(AppArgument(argument: link) == AppArgument(argument: program))
    #expect(AppArgument(argument: program)?.path.hasSuffix("/program") == true)
  }

  @Test(arguments: [("/none/such", "/none/such"), ("/none/../none/such", "/none/such")])
  func aProgramThatIsGoneIsNamedByItsPath(_ text: String, _ path: String) {
    #expect(AppArgument(argument: text)?.path == path)
  }

  @Test func anEmptyTextIsNoProgram() { #expect(AppArgument(argument: "") == nil) }

  @Test func aCommandIsAboutNumbersAnAppOrAll() throws {
    #expect(try CancelCommand.parse(["3", "4"]).choice.selection == .numbers([3, 4]))
    #expect(try PauseCommand.parse(["--all"]).choice.selection == .all)
    #expect(try ResumeCommand.parse(["--app", "/none/such"]).choice.selection == .app("/none/such"))
  }
}
