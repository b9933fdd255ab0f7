import Foundation

/// A response with its body, as a cache keeps it. Immutable.
open class CachedURLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  private let storedResponse: URLResponse
  private let storedData: Data
  private let storedUserInfo: [AnyHashable: Any]?
  private let storedPolicy: URLCache.StoragePolicy

  /// A response that may be kept in memory and on disk.
  public init(response: URLResponse, data: Data) {
    storedResponse = response
    storedData = data
    storedUserInfo = nil
    storedPolicy = .allowed
  }

  /// - Parameters:
  ///   - userInfo: What the app wants to find beside the response. Only property lists survive on disk.
  ///   - storagePolicy: Where the response may be kept.
  public init(
    response: URLResponse, data: Data, userInfo: [AnyHashable: Any]? = nil, storagePolicy: URLCache.StoragePolicy
  ) {
    storedResponse = response
    storedData = data
    storedUserInfo = userInfo
    storedPolicy = storagePolicy
  }

  open var response: URLResponse { storedResponse }

  /// The body, decoded.
  open var data: Data { storedData }
  open var userInfo: [AnyHashable: Any]? { storedUserInfo }

  /// Where the response may be kept.
  open var storagePolicy: URLCache.StoragePolicy { storedPolicy }

  // MARK: Copying and comparing

  /// The response itself, since it never changes.
  open override func copy() -> Any { self }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CachedURLResponse else { return false }
    return self === other
      || (response.isEqual(other.response) && data == other.data && storagePolicy == other.storagePolicy
        && (userInfo as NSDictionary?) == (other.userInfo as NSDictionary?))
  }

  open override var hash: Int { response.hash ^ data.count }

  // MARK: Archiving

  open class var supportsSecureCoding: Bool { true }

  public required init?(coder: NSCoder) {
    guard coder.allowsKeyedCoding,
      let response = coder.decodeObject(of: [URLResponse.self, HTTPURLResponse.self], forKey: "response")
        as? URLResponse
    else { return nil }
    storedResponse = response
    storedData = coder.decodeObject(of: NSData.self, forKey: "data") as Data? ?? Data()
    storedUserInfo =
      coder.decodeObject(of: CachedURLResponse.propertyListClasses, forKey: "userInfo") as? [AnyHashable: Any]
    storedPolicy = URLCache.StoragePolicy(rawValue: coder.decodeUInt(forKey: "storagePolicy")) ?? .notAllowed
  }

  open func encode(with coder: NSCoder) {
    coder.encode(storedResponse, forKey: "response")
    coder.encode(storedData as NSData, forKey: "data")
    if let storedUserInfo, PropertyListSerialization.propertyList(storedUserInfo, isValidFor: .binary) {
      coder.encode(storedUserInfo as NSDictionary, forKey: "userInfo")
    }
    coder.encode(Int(storedPolicy.rawValue), forKey: "storagePolicy")
  }

  private static let propertyListClasses: [AnyClass] = [
    NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSData.self, NSDate.self,
  ]
}
