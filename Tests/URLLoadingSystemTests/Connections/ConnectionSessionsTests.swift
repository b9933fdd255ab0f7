import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct ConnectionSessionsTests {
  @Test func theStoresAreTheSharedOnes() {
    let sessions = ConnectionSessions.shared
    for session in [sessions.stored, sessions.unstored] {
      #expect(session.configuration.httpCookieStorage === HTTPCookieStorage.shared)
    }
    #expect(sessions.stored.configuration.urlCredentialStorage === URLCredentialStorage.shared)
    #expect(sessions.unstored.configuration.urlCredentialStorage == nil)
  }

  /// No app can end them for all others.
  @Test func theyAreSessionsOfTheirOwn() async throws {
    let sessions = ConnectionSessions.shared
    #expect(sessions.stored !== URLSession.shared)
    sessions.end()
    for session in [sessions.stored, sessions.unstored] {
      let (data, _) = try await session.data(from: textURL("x"))
      #expect(data == Data("x".utf8))
    }
  }
}
