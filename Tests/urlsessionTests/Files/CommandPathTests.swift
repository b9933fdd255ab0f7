import Testing

@testable import urlsession

@Suite struct CommandPathTests {
  @Test(arguments: [
    ("a", "/here/a"), ("./a", "/here/a"), ("../a", "/a"), ("/x/../a", "/a"), (".", "/here"), ("~/a", "/here/~/a"),
    ("~", "/here/~"), ("~root/a", "/here/~root/a"), ("a b", "/here/a b"), ("ä%20", "/here/ä%20"),
  ])
  func aPathIsThatOfTheCurrentFolder(argument: String, path: String) throws {
    #expect(try CommandPath.absolute(argument, in: "/here") == path)
  }

  @Test func aCurrentFolderThatIsGoneIsSaidToBe() throws {
    #expect(try CommandPath.absolute("/a", in: "") == "/a")
    #expect { try CommandPath.absolute("a", in: "") } throws: { error in
      (error as? CommandFailure)?.what.contains("the current folder is gone") == true
    }
  }
}
