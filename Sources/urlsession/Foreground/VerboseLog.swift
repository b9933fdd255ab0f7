import CommandLineOutput
import Synchronization
import URLLoadingSystem

/// Tells on standard error what a load does, while it does it, in the order in which it happens. From any thread.
final class VerboseLog: Sendable {
  private let printer: ProgressPrinter
  /// Of a handshake that is under way: told when it is known what came of it.
  private let certificate = Mutex<SecCertificate?>(nil)

  init(printer: ProgressPrinter) { self.printer = printer }

  func say(_ lines: [String]) { for line in lines { printer.say(line) } }

  /// For the session's configuration.
  var observer: LoadObserver {
    LoadObserver { [self] event, transaction in
      switch event {
      case .requestWasSent:
        say(VerboseLines.connection(transaction, takeCertificate()))
        if let head = transaction.requestHeadText { say(VerboseLines.request(head)) }
      case .responseCame(let response): say(VerboseLines.response(response))
      }
    }
  }

  func serverShowed(_ trust: SecTrust) {
    guard let leaf = SecTrustGetCertificateAtIndex(trust, 0) else { return }
    certificate.withLock { $0 = leaf }
  }

  func ended(_ metrics: URLSessionTaskMetrics) {
    // A load that did not get so far as to send a request; perhaps because of the certificate.
    for transaction in metrics.transactionMetrics where transaction.requestHeadText == nil {
      say(VerboseLines.connection(transaction, takeCertificate()))
    }
    say(VerboseLines.metrics(metrics))
  }

  private func takeCertificate() -> SecCertificate? {
    certificate.withLock { certificate in
      defer { certificate = nil }
      return certificate
    }
  }
}
