import Foundation
import HTTPTransport

extension TrafficClass {
  /// The marks for a request's service type, or for its session's when the request has none of its own.
  init(_ request: URLRequest, ofSession: URLRequest.NetworkServiceType) {
    let own = request.networkServiceType
    self = TrafficClass(own == .default ? ofSession : own)
  }

  /// The service classes of RFC 4594 §2.3 and RFC 8622, as Apple's systems use them on networks that heed them.
  init(_ type: URLRequest.NetworkServiceType) {
    switch type {
    case .default: self = .bestEffort
    case .background: self.init(dscp: 8, priority: 1)  // CS1
    case .responsiveData: self.init(dscp: 18, priority: 3)  // AF21
    case .avStreaming: self.init(dscp: 26, priority: 4)  // AF31
    case .video, .responsiveAV: self.init(dscp: 34, priority: 5)  // AF41
    case .voip, .callSignaling: self.init(dscp: 40, priority: 6)  // CS5
    case .voice: self.init(dscp: 46, priority: 6)  // EF
    @unknown default: self = .bestEffort
    }
  }
}
