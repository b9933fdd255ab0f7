import Foundation
import Testing

@testable import urlsession

struct RescueFoldersTests {
  @Test func onlyFoldersThatAreThereAndOursLast() throws {
    let home = TemporaryFolder()
    let environment = ["HOME": home.path, "XDG_DOWNLOAD_DIR": "relative"]
    #expect(RescueFolders.candidates(environment: environment, state: "/s") == ["/s/rescued"])
    try FileManager.default.createDirectory(atPath: home.path + "/Downloads", withIntermediateDirectories: false)
    #expect(
      RescueFolders.candidates(environment: environment, state: "/s") == [home.path + "/Downloads", "/s/rescued"])
    let chosen = TemporaryFolder()
    let both = environment.merging(["XDG_DOWNLOAD_DIR": chosen.path]) { $1 }
    #expect(RescueFolders.candidates(environment: both, state: "/s").first == chosen.path)
  }
}
