import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct ServiceLocationTests {
  @Test func aProgramThatOtherUsersCanReplaceIsIgnored() throws {
    let folder = NSTemporaryDirectory() + "location-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["open", "closed"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: "/bin/true", toPath: "\(folder)/\(name)/urlsessiond")
    }
    chmod(folder + "/open", 0o777)
    chmod(folder + "/closed", 0o755)
    let candidates = ["none", "open", "closed"].map { "\(folder)/\($0)/urlsessiond" }
    #expect(ServiceLocation.trusted(candidates) == candidates[2])
    #expect(ServiceLocation.trusted(Array(candidates.prefix(2))) == nil)
    // The variable names the program outright.
    let location = try ServiceLocation(environment: [
      "XDG_RUNTIME_DIR": folder, ServiceLocation.programVariable: candidates[1],
    ])
    #expect(location.program == candidates[1])
  }
}
