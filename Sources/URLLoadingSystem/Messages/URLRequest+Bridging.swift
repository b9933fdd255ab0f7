import Foundation

extension URLRequest: ReferenceConvertible, _ObjectiveCBridgeable {
  /// The class that `URLRequest` bridges to with `as`.
  public typealias ReferenceType = NSURLRequest
  public typealias _ObjectiveCType = NSURLRequest

  public func _bridgeToObjectiveC() -> NSURLRequest { NSURLRequest(self) }

  public static func _forceBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) {
    result = source.request
  }

  public static func _conditionallyBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) -> Bool {
    result = source.request
    return true
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURLRequest?) -> URLRequest {
    source?.request ?? URLRequest()
  }
}

extension URLRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The URL, or `url: nil`.
  public var description: String { url.map { $0.description } ?? "url: nil" }

  public var debugDescription: String { description }

  public var customMirror: Mirror {
    let children: [(label: String?, value: Any)] = [
      ("url", url as Any), ("cachePolicy", cachePolicy), ("timeoutInterval", timeoutInterval),
      ("mainDocumentURL", mainDocumentURL as Any), ("networkServiceType", networkServiceType),
      ("allowsCellularAccess", allowsCellularAccess), ("httpMethod", httpMethod as Any),
      ("allHTTPHeaderFields", allHTTPHeaderFields as Any), ("httpBody", httpBody as Any),
      ("httpBodyStream", httpBodyStream as Any), ("httpShouldHandleCookies", httpShouldHandleCookies),
      ("httpShouldUsePipelining", httpShouldUsePipelining),
    ]
    return Mirror(self, children: children, displayStyle: .struct)
  }
}
