import HTTPTransport
import URLLoadingSystem

/// The state that the tries of sessions with equal options share: connections, proxy outages and credentials, the text
/// of a proxy script.
struct LoadingEnvironment: Sendable {
  let configuration: LoadConfiguration
  let transport: HTTPTransport

  init(_ configuration: LoadConfiguration) {
    self.configuration = configuration
    transport = HTTPTransport(configuration: configuration.transport)
  }
}
