import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

@Suite struct LoadingEnvironmentsTests {
  private let credentials = URLCredentialStorage()

  private func options(_ count: Int) -> SessionOptions {
    var options = SessionOptions()
    options.httpMaximumConnectionsPerHost = count
    return options
  }

  private func environments(limit: Int) -> LoadingEnvironments {
    LoadingEnvironments(limit: limit) { options, _ in options.makeConfiguration().loadConfiguration }
  }

  @Test func equalOptionsShareOneEnvironment() {
    let environments = environments(limit: 4)
    let first = environments.take(for: options(1), of: 1, credentials)
    environments.release(options(1), of: 1)
    #expect(environments.take(for: options(1), of: 1, credentials).transport === first.transport)
    #expect(environments.take(for: options(2), of: 1, credentials).transport !== first.transport)
    environments.shutDown()
  }

  @Test func theOneNotUsedForLongestIsForgotten() {
    let environments = environments(limit: 2)
    func use(_ count: Int) -> LoadingEnvironment {
      defer { environments.release(options(count), of: 1) }
      return environments.take(for: options(count), of: 1, credentials)
    }
    let (first, second) = (use(1), use(2))
    _ = use(1)
    _ = use(3)
    #expect(use(1).transport === first.transport)
    #expect(use(2).transport !== second.transport)
    environments.shutDown()
  }

  @Test func environmentsInUseAreKept() {
    let environments = environments(limit: 1)
    let first = environments.take(for: options(1), of: 1, credentials)
    _ = environments.take(for: options(2), of: 1, credentials)
    environments.release(options(2), of: 1)
    #expect(environments.take(for: options(1), of: 1, credentials).transport === first.transport)
    environments.shutDown()
  }
}
