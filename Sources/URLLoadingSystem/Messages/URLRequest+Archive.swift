import Foundation
import HTTPSemantics

extension URLRequest {
  private enum Key {
    static let url = "url"
    static let mainDocumentURL = "mainDocumentURL"
    static let cachePolicy = "cachePolicy"
    static let timeoutInterval = "timeoutInterval"
    static let networkServiceType = "networkServiceType"
    static let attribution = "attribution"
    static let flags = "flags"
    static let method = "httpMethod"
    static let fields = "httpHeaderFields"
    static let body = "httpBody"
    static let partition = "cookiePartitionIdentifier"
  }

  /// Writes everything but the body stream and the properties left by a `URLProtocol`.
  func archive(in coder: NSCoder) {
    coder.encode(url as NSURL?, forKey: Key.url)
    coder.encode(mainDocumentURL as NSURL?, forKey: Key.mainDocumentURL)
    coder.encode(Int(cachePolicy.rawValue), forKey: Key.cachePolicy)
    coder.encode(timeoutInterval, forKey: Key.timeoutInterval)
    coder.encode(Int(networkServiceType.rawValue), forKey: Key.networkServiceType)
    coder.encode(Int(attribution.rawValue), forKey: Key.attribution)
    coder.encode(Int(flags.rawValue), forKey: Key.flags)
    coder.encode(httpMethod as NSString?, forKey: Key.method)
    headerFields.archive(in: coder, forKey: Key.fields)
    coder.encode(httpBody as NSData?, forKey: Key.body)
    coder.encode(cookiePartitionIdentifier as NSString?, forKey: Key.partition)
  }

  /// Reads what `archive(in:)` wrote. nil when the archive is not one of a request.
  init?(archivedIn coder: NSCoder) {
    guard coder.allowsKeyedCoding, coder.containsValue(forKey: Key.timeoutInterval) else { return nil }
    self.init()
    url = coder.decodeObject(of: NSURL.self, forKey: Key.url) as URL?
    mainDocumentURL = coder.decodeObject(of: NSURL.self, forKey: Key.mainDocumentURL) as URL?
    cachePolicy = CachePolicy(rawValue: coder.decodeUInt(forKey: Key.cachePolicy)) ?? .useProtocolCachePolicy
    timeoutInterval = coder.decodeDouble(forKey: Key.timeoutInterval)
    networkServiceType = NetworkServiceType(rawValue: coder.decodeUInt(forKey: Key.networkServiceType)) ?? .default
    attribution = Attribution(rawValue: coder.decodeUInt(forKey: Key.attribution)) ?? .developer
    httpMethod = coder.decodeObject(of: NSString.self, forKey: Key.method) as String?
    headerFields = HTTPFields(archivedIn: coder, forKey: Key.fields)
    httpBody = coder.decodeObject(of: NSData.self, forKey: Key.body) as Data?
    cookiePartitionIdentifier = coder.decodeObject(of: NSString.self, forKey: Key.partition) as String?
    // Last, since setting a property above marks it as set.
    flags = Flags(rawValue: UInt16(truncatingIfNeeded: coder.decodeInteger(forKey: Key.flags)))
  }
}

extension NSCoder {
  /// A small number that came from an archive and so may be anything.
  func decodeUInt(forKey key: String) -> UInt { UInt(exactly: decodeInteger(forKey: key)) ?? .max }
}

extension HTTPFields {
  /// Writes names and values in turn, as one array of strings: order and repetitions survive.
  func archive(in coder: NSCoder, forKey key: String) {
    coder.encode(fields.flatMap { [$0.name, $0.value] } as NSArray, forKey: key)
  }

  init(archivedIn coder: NSCoder, forKey key: String) {
    self.init()
    let strings = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: key) as? [String] ?? []
    var iterator = strings.makeIterator()
    while let name = iterator.next(), let value = iterator.next() { append(name, value) }
  }
}
