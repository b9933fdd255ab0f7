import Foundation
import HTTPSemantics

extension URLRequest {
  /// Everything a request holds, in one allocation.
  final class Box {
    var url: URL?
    var timeoutInterval: TimeInterval = 60
    var cachePolicy = CachePolicy.useProtocolCachePolicy
    var networkServiceType = NetworkServiceType.default
    var attribution = Attribution.developer
    var flags = Flags.initial
    var httpMethod = "GET"
    var fields = HTTPFields()
    var httpBody: Data?
    var httpBodyStream: InputStream?
    var mainDocumentURL: URL?
    var cookiePartitionIdentifier: String?
    var protocolProperties: [String: Any]?

    init(url: URL?) { self.url = url }

    init(copying other: Box) {
      url = other.url
      timeoutInterval = other.timeoutInterval
      cachePolicy = other.cachePolicy
      networkServiceType = other.networkServiceType
      attribution = other.attribution
      flags = other.flags
      httpMethod = other.httpMethod
      fields = other.fields
      httpBody = other.httpBody
      httpBodyStream = other.httpBodyStream
      mainDocumentURL = other.mainDocumentURL
      cookiePartitionIdentifier = other.cookiePartitionIdentifier
      protocolProperties = other.protocolProperties
    }

    /// Whether two requests ask for the same in the same way. Whether a value was set or is the default does not
    /// matter, nor does the order of header fields or the spelling of their names.
    func isEqual(to other: Box) -> Bool {
      url == other.url && httpMethod == other.httpMethod && cachePolicy == other.cachePolicy
        && timeoutInterval == other.timeoutInterval && networkServiceType == other.networkServiceType
        && attribution == other.attribution && flags.comparable == other.flags.comparable
        && mainDocumentURL == other.mainDocumentURL && httpBody == other.httpBody
        && httpBodyStream === other.httpBodyStream
        && cookiePartitionIdentifier == other.cookiePartitionIdentifier
        && fields.fields.count == other.fields.fields.count
        && fields.fields.allSatisfy { other.fields[$0.name] == fields[$0.name] }
    }
  }

  /// The yes-or-no properties of a request, and which others the app has set.
  struct Flags: OptionSet {
    var rawValue: UInt16

    static let allowsCellularAccess = Flags(rawValue: 1 << 0)
    static let allowsExpensiveNetworkAccess = Flags(rawValue: 1 << 1)
    static let allowsConstrainedNetworkAccess = Flags(rawValue: 1 << 2)
    static let allowsUltraConstrainedNetworkAccess = Flags(rawValue: 1 << 3)
    static let assumesHTTP3Capable = Flags(rawValue: 1 << 4)
    static let requiresDNSSECValidation = Flags(rawValue: 1 << 5)
    static let allowsPersistentDNS = Flags(rawValue: 1 << 6)
    static let httpShouldHandleCookies = Flags(rawValue: 1 << 7)
    static let httpShouldUsePipelining = Flags(rawValue: 1 << 8)
    static let cachePolicyIsSet = Flags(rawValue: 1 << 9)
    static let timeoutIntervalIsSet = Flags(rawValue: 1 << 10)
    static let headerFieldsAreSet = Flags(rawValue: 1 << 11)

    static let initial: Flags = [
      .allowsCellularAccess, .allowsExpensiveNetworkAccess, .allowsConstrainedNetworkAccess, .httpShouldHandleCookies,
    ]

    var comparable: Flags { subtracting([.cachePolicyIsSet, .timeoutIntervalIsSet, .headerFieldsAreSet]) }

    mutating func set(_ flag: Flags, _ isOn: Bool) {
      if isOn { insert(flag) } else { remove(flag) }
    }
  }
}
