import SystemServices
import Testing

@testable import TransferService

@Suite struct LimitingProgramTests {
  @Test(arguments: [
    ("/usr/bin/urlsession", "/usr/bin/urlsessiond", true), ("/usr/bin/urlsession", "/usr/libexec/urlsessiond", true),
    ("/home/u/urlsession", "/usr/bin/urlsessiond", false), ("/usr/bin/app", "/usr/bin/urlsessiond", false),
  ])
  func onlyTheProgramOfTheService(_ program: String, _ service: String, _ isAllowed: Bool) {
    let identity = ExecutableIdentity(path: program, device: 1, inode: 2, owner: 0)
    #expect(LimitingProgram.isAllowed(identity, besides: service) == isAllowed)
    #expect(!LimitingProgram.isAllowed(identity, besides: nil))
  }
}
