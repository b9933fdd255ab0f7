import Testing

@testable import URLLoadingSystem

/// The numbers that `LoadPipeline` writes down agree with its list.
@Suite struct LoadPipelineTests {
  private func name(_ index: Int) -> String? { LoadPipeline.type(at: index).map { String(describing: $0) } }

  @Test func theNumberOfStagesIsThatOfTheList() {
    let names = (0..<LoadPipeline.count).compactMap { name($0) }
    #expect(names.count == LoadPipeline.count && Set(names).count == names.count)
    #expect(name(LoadPipeline.count) == nil && name(-1) == nil)
  }

  @Test func fieldsBeginAnewUpToTheStageThatAddsThem() {
    #expect(name(LoadPipeline.firstStageBehindFields - 1) == "RequestFields")
  }

  @Test func credentialsAreLookedForAgainFromTheirStageOn() {
    #expect(name(LoadPipeline.authentication) == "Authentication")
  }

  @Test func customProtocolsStandDirectlyInsideRedirects() {
    #expect(name(0) == "Redirects" && name(1) == "CustomProtocols")
  }
}
