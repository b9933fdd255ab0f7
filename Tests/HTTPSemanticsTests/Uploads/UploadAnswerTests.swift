import HTTPSemantics
import Testing

@Suite struct UploadAnswerTests {
  @Test func uploadIncompleteIsReadAsTheOppositeOfUploadComplete() {
    #expect(UploadAnswer(HTTPFields(["Upload-Incomplete": "?0"])).isComplete == true)
    #expect(UploadAnswer(HTTPFields(["Upload-Incomplete": "?1"])).isComplete == false)
    #expect(UploadAnswer(HTTPFields(["Upload-Complete": "?1"])).isComplete == true)
  }

  @Test func fieldWithTwoDifferentValuesIsIgnored() {
    #expect(UploadAnswer(HTTPFields(["Upload-Offset": "1", "upload-offset": "2"])).offset == nil)
    #expect(UploadAnswer(HTTPFields(["Upload-Offset": "2", "upload-offset": "2"])).offset == 2)
  }
}
