import Foundation
import Testing

@testable import TransferProtocol

@Suite struct TransferOutlineTests {
  private static let full: TransferDescription = {
    var request = RequestDescription(url: "https://localhost/ä?b=c")
    request.headers = [HeaderField("url", #"{"url":"no"}"#)]
    var description = TransferDescription(token: "t", taskIdentifier: 7, kind: .upload, request: request)
    description.taskDescription = "a \"b\"\n"
    description.bytesPerSecond = 2_048
    description.hourlyLimits = [BandwidthLimit(bytesPerSecond: 5)]
    return description
  }()

  private static let plain = TransferDescription(
    token: "t", taskIdentifier: 1, request: RequestDescription(url: "http://h/"))

  @Test(arguments: [full, plain]) func itIsThatOfTheDescription(_ description: TransferDescription) throws {
    let json = try MessageFraming.encode(description)
    #expect(TransferOutline(descriptionJSON: json) == TransferOutline(description))
  }

  /// `Codable` would refuse the token.
  @Test func otherFieldsAreNotDecoded() throws {
    var json = try MessageFraming.encode(Self.plain)
    let token = try #require(json.firstRange(of: Data(#""token":"t""#.utf8)))
    json.replaceSubrange(token, with: Data(#""token":{}"#.utf8))
    #expect(TransferOutline(descriptionJSON: json) == TransferOutline(Self.plain))
  }

  @Test(arguments: ["", "{}", "[]", #"{"kind":"download"}"#, #"{"kind":"download","request":{}}"#])
  func otherJSONIsNone(_ json: String) {
    #expect(TransferOutline(descriptionJSON: Data(json.utf8)) == nil)
  }

  @Test func noPartOfADescriptionIsOne() throws {
    let json = try MessageFraming.encode(Self.full)
    for count in 0..<json.count { #expect(TransferOutline(descriptionJSON: json.prefix(count)) == nil) }
  }
}
