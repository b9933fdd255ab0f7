import ArgumentParser
import URLLoadingSystem

/// How a transfer ranks among those of this program.
enum TransferPriority: String, ExpressibleByArgument, CaseIterable {
  case low, `default`, high

  var value: Float {
    switch self {
    case .low: URLSessionTask.lowPriority
    case .default: URLSessionTask.defaultPriority
    case .high: URLSessionTask.highPriority
    }
  }
}
