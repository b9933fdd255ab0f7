import Testing
import TransferProtocol
import URLLoadingSystem

@testable import TransferService

@Suite struct LoadingEnvironmentsTests {
  private func options(_ count: Int) -> SessionOptions {
    var options = SessionOptions()
    options.httpMaximumConnectionsPerHost = count
    return options
  }

  private func environments(limit: Int) -> LoadingEnvironments {
    LoadingEnvironments(limit: limit) { $0.makeConfiguration().loadConfiguration }
  }

  @Test func equalOptionsShareOneEnvironment() {
    let environments = environments(limit: 4)
    let first = environments.take(for: options(1))
    environments.release(options(1))
    #expect(environments.take(for: options(1)).transport === first.transport)
    #expect(environments.take(for: options(2)).transport !== first.transport)
    environments.shutDown()
  }

  @Test func theOneNotUsedForLongestIsForgotten() {
    let environments = environments(limit: 2)
    func use(_ count: Int) -> LoadingEnvironment {
      defer { environments.release(options(count)) }
      return environments.take(for: options(count))
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
    let first = environments.take(for: options(1))
    _ = environments.take(for: options(2))
    environments.release(options(2))
    #expect(environments.take(for: options(1)).transport === first.transport)
    environments.shutDown()
  }
}
