import HTTPSemantics
import Testing

@Suite struct UploadVersionTests {
  @Test(arguments: [("3", 3), ("5", 5), ("6", 6), ("8", 8), ("2", nil), ("9", nil), ("x", nil)] as [(String, Int?)])
  func versionIsOneThatIsKnown(field: String, number: Int?) { #expect(UploadVersion(field)?.number == number) }

  @Test func versionThreeSendsUploadIncomplete() throws {
    let three = try #require(UploadVersion("3"))
    #expect(three.creationFields["Upload-Incomplete"] == "?0")
    #expect(!three.creationFields.contains("Upload-Complete"))
    let six = UploadVersion.preferred.appendFields(offset: 5, isComplete: false)
    #expect(six["Upload-Complete"] == "?0" && six["Upload-Offset"] == "5")
    #expect(six["Content-Type"] == "application/partial-upload")
  }
}
