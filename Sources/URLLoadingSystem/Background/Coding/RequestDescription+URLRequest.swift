import Foundation
import HTTPSemantics
import TransferProtocol

extension RequestDescription {
  private typealias Property = CarriedProperty<RequestDescription, URLRequest>

  /// Every property of a request but its body stream, which ends with the process.
  private static let properties: [Property] = [
    .same(\.allowsCellularAccess, \.allowsCellularAccess),
    .same(\.allowsExpensiveNetworkAccess, \.allowsExpensiveNetworkAccess),
    .same(\.allowsConstrainedNetworkAccess, \.allowsConstrainedNetworkAccess),
    .same(\.allowsUltraConstrainedNetworkAccess, \.allowsUltraConstrainedNetworkAccess),
    .same(\.assumesHTTP3Capable, \.assumesHTTP3Capable),
    .same(\.requiresDNSSECValidation, \.requiresDNSSECValidation),
    .same(\.allowsPersistentDNS, \.allowsPersistentDNS),
    .same(\.httpShouldHandleCookies, \.httpShouldHandleCookies),
    .same(\.httpShouldUsePipelining, \.httpShouldUsePipelining),
    .same(\.cookiePartitionIdentifier, \.cookiePartitionIdentifier),
    .same(\.body, \.httpBody),
    .number(\.networkServiceType, \.networkServiceType),
    .number(\.attribution, \.attribution),
    .method, .headers, .timeoutInterval, .cachePolicy, .mainDocumentURL, .protocolProperties,
  ]

  /// `request` as a message.
  package init(_ request: URLRequest) {
    self.init(url: request.url?.absoluteString ?? "")
    Property.encode(request, into: &self, RequestDescription.properties)
  }

  /// The request that was described; nil when its URL is none.
  package var urlRequest: URLRequest? {
    guard let url = URL(string: url) else { return nil }
    var request = URLRequest(url: url)
    Property.decode(self, into: &request, RequestDescription.properties)
    return request
  }
}

extension CarriedProperty<RequestDescription, URLRequest> {
  fileprivate static var method: Self {
    Self(encode: { $1.method = $0.httpMethod ?? "GET" }, decode: { $1.httpMethod = $0.method })
  }

  fileprivate static var headers: Self {
    Self(
      encode: { $1.headers = [HeaderField]($0.headerFields) }, decode: { $1.headerFields = HTTPFields($0.headers) })
  }

  // A property that the app left at its default stays unset, so that the session's setting applies.

  fileprivate static var timeoutInterval: Self {
    Self(
      encode: {
        $1.timeoutInterval = $0.isTimeoutIntervalSet ? MessageInterval.seconds($0.timeoutInterval) : nil
      },
      decode: { if let interval = $0.timeoutInterval { $1.timeoutInterval = interval } })
  }

  fileprivate static var cachePolicy: Self {
    Self(
      encode: { $1.cachePolicy = $0.isCachePolicySet ? $0.cachePolicy.rawValue : nil },
      decode: {
        if let policy = $0.cachePolicy.flatMap({ URLRequest.CachePolicy(rawValue: $0) }) { $1.cachePolicy = policy }
      })
  }

  fileprivate static var mainDocumentURL: Self {
    Self(
      encode: { $1.mainDocumentURL = $0.mainDocumentURL?.absoluteString },
      decode: { $1.mainDocumentURL = $0.mainDocumentURL.flatMap { URL(string: $0) } })
  }

  fileprivate static var protocolProperties: Self {
    Self(
      encode: {
        let properties = $0.protocolProperties
        guard !properties.isEmpty, PropertyListSerialization.propertyList(properties, isValidFor: .xml) else {
          $1.protocolProperties = nil
          return
        }
        $1.protocolProperties = try? PropertyListSerialization.data(
          fromPropertyList: properties, format: .xml, options: 0)
      },
      decode: {
        guard let data = $0.protocolProperties,
          let properties = (try? PropertyListReader.plainValue(of: data)) as? [String: Any]
        else { return }
        for (key, value) in properties { $1.setProtocolProperty(value, forKey: key) }
      })
  }
}

extension URLRequest {
  /// Why no message can hold the request; nil when one can.
  func uncarriedProperty() -> URLError? {
    guard let url else { return ErrorMapping.make(.badURL, because: "The request has no URL.") }
    // The service, and a later process of the app, have its text alone.
    if URL(string: url.absoluteString) == nil {
      return ErrorMapping.make(.badURL, because: "The text of the request's URL is no URL: \(url.absoluteString)")
    }
    if httpBodyStream != nil {
      return ErrorMapping.make(
        .requestBodyStreamExhausted, because: "A background task can't have a body stream: it ends with the process.")
    }
    if let httpBody, httpBody.count > RequestDescription.maximumBodyLength {
      return ErrorMapping.make(
        .dataLengthExceedsMaximum,
        because: "The body of a background task may have \(RequestDescription.maximumBodyLength) bytes at most.")
    }
    if !protocolProperties.isEmpty,
      RequestDescription(self).urlRequest?.protocolProperties.count != protocolProperties.count
    {
      return ErrorMapping.make(
        .unknown,
        because: "The URLProtocol properties of a background task's request can only be strings, numbers and data.")
    }
    return nil
  }
}
