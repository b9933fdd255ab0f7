import HTTPSemantics
import Testing

@Suite struct UploadContinuationTests {
  @Test(
    arguments: [
      (200, ["Upload-Offset": "5", "Upload-Complete": "?0"], .append(from: 5)),
      (204, ["Upload-Offset": "10", "Upload-Incomplete": "?1"], .append(from: 10)),
      (204, ["Upload-Offset": "0"], .append(from: 0)),
      (204, ["Upload-Offset": "10", "Upload-Complete": "?1"], .complete),
      (204, ["Upload-Offset": "11"], .impossible("The server says that it has more than there is.")),
      (204, [:], .impossible("The server does not say how much it has.")),
      (204, ["Upload-Offset": "-1"], .impossible("The server does not say how much it has.")),
      (204, ["Upload-Offset": "1", "upload-offset": "2"], .impossible("The server does not say how much it has.")),
      (204, ["Upload-Offset": "1", "Upload-Limit": "max-size=9"], .impossible("The server takes 9 bytes at most.")),
      (404, ["Upload-Offset": "1"], .impossible("The server does not know the upload any more (status 404).")),
      (503, [:], .later), (423, [:], .later), (408, [:], .later), (429, [:], .later), (507, [:], .later),
    ] as [(Int, KeyValuePairs<String, String>, UploadContinuation)])
  func continuationFollowsFromTheAnswer(
    status: Int, fields: KeyValuePairs<String, String>, expected: UploadContinuation
  ) {
    #expect(UploadContinuation.decide(status: status, answer: UploadAnswer(HTTPFields(fields)), length: 10) == expected)
  }
}
