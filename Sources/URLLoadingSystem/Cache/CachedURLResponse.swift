import Foundation
import HTTPSemantics
import NIOCore

/// A response with its body, as a cache keeps it. Immutable.
open class CachedURLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed: one constant of a Sendable type.
  private let contents: Contents

  private struct Contents: Sendable {
    let response: URLResponse
    let data: Data
    var userInfo: AppDictionary?
    var policy = URLCache.StoragePolicy.allowed
    /// The response as a load knows it; nil when an app made the object.
    var loadedHead: StoredHead?
  }

  /// A response that may be kept in memory and on disk.
  public init(response: URLResponse, data: Data) {
    contents = Contents(response: response, data: data)
  }

  /// A response that may be kept as the policy says.
  ///
  /// - Parameters:
  ///   - response: The response.
  ///   - data: Its body, decoded.
  ///   - userInfo: What the app wants to find beside the response. Only property lists survive on disk.
  ///   - storagePolicy: Where the response may be kept.
  public init(
    response: URLResponse, data: Data, userInfo: [AnyHashable: Any]? = nil, storagePolicy: URLCache.StoragePolicy
  ) {
    contents = Contents(
      response: response, data: data, userInfo: userInfo.map { AppDictionary($0) }, policy: storagePolicy)
  }

  init(
    response: URLResponse, data: Data, userInfo: AppDictionary?, storagePolicy: URLCache.StoragePolicy,
    loadedHead: StoredHead
  ) {
    contents = Contents(
      response: response, data: data, userInfo: userInfo, policy: storagePolicy, loadedHead: loadedHead)
  }

  var loadedHead: StoredHead? { contents.loadedHead }

  /// The response without its body.
  open var response: URLResponse { contents.response }

  /// The body, decoded.
  open var data: Data { contents.data }
  /// The entries that the app stored beside the response; nil when there are none. Only property lists survive on disk.
  open var userInfo: [AnyHashable: Any]? { contents.userInfo?.entries }

  /// The storage in which the response may be kept.
  open var storagePolicy: URLCache.StoragePolicy { contents.policy }

  // MARK: Copying and comparing

  /// The response itself, since it never changes.
  open override func copy() -> Any { self }

  /// The response itself, as `copy()`; `zone` has no meaning.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CachedURLResponse else { return false }
    return self === other
      || (response.isEqual(other.response) && data == other.data && storagePolicy == other.storagePolicy
        && (userInfo as NSDictionary?) == (other.userInfo as NSDictionary?))
  }

  open override var hash: Int { response.hash ^ data.count }

  // MARK: Archiving

  /// Always true: an archive names the classes it may be read as.
  open class var supportsSecureCoding: Bool { true }

  /// Reads an archived response; nil where the archive has none, or is not keyed.
  public required init?(coder: NSCoder) {
    guard coder.allowsKeyedCoding,
      let response = coder.decodeObject(of: [URLResponse.self, HTTPURLResponse.self], forKey: "response")
        as? URLResponse
    else { return nil }
    let userInfo =
      coder.decodeObject(of: CachedURLResponse.propertyListClasses, forKey: "userInfo") as? [AnyHashable: Any]
    let head =
      coder.containsValue(forKey: "loadedHead")
      ? coder.decodeObject(of: NSData.self, forKey: "loadedHead") as Data? : nil
    contents = Contents(
      response: response, data: coder.decodeObject(of: NSData.self, forKey: "data") as Data? ?? Data(),
      userInfo: userInfo.map { AppDictionary($0) },
      policy: URLCache.StoragePolicy(rawValue: coder.decodeUInt(forKey: "storagePolicy")) ?? .notAllowed,
      loadedHead: head.flatMap { CacheRecord(ByteBuffer(bytes: $0))?.head })
  }

  /// Archives the response with its data, its storage policy, and a `userInfo` that is a property list; another `userInfo` is
  /// left out.
  open func encode(with coder: NSCoder) {
    coder.encode(contents.response, forKey: "response")
    coder.encode(contents.data as NSData, forKey: "data")
    if let userInfo = contents.userInfo?.entries, PropertyListSerialization.propertyList(userInfo, isValidFor: .binary)
    {
      coder.encode(userInfo as NSDictionary, forKey: "userInfo")
    }
    coder.encode(Int(contents.policy.rawValue), forKey: "storagePolicy")
    if let head = contents.loadedHead {
      let record = CacheRecord(head: head, userInfo: nil).encoded
      coder.encode(Data(record.readableBytesView) as NSData, forKey: "loadedHead")
    }
  }

  private static let propertyListClasses: [AnyClass] = [
    NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSData.self, NSDate.self,
  ]
}
