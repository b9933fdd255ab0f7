import CLinux
import Foundation

/// One connection to the Secret Service, with its encrypted session, for one operation. On one thread; every call blocks
/// until it is answered, fails, or `cancellation` is cancelled.
final class SecretServiceSession {
  /// Marks our items among those of other programs.
  static let schema = "org.urlsession.credential"
  /// SECRET_SERVICE_OPEN_SESSION: secrets are encrypted on their way over the bus.
  private static let opensSession: CInt = 1 << 1

  private let library: SecretLibrary
  private let cancellation: SecretCancellation
  private let service: SecretLibrary.Object
  private let schema: SecretLibrary.Object

  init(_ library: SecretLibrary, _ cancellation: SecretCancellation) throws {
    self.library = library
    self.cancellation = cancellation
    let types = try library.types(SecretAttributes.Name.allCases.map(\.rawValue))
    defer { library.releaseTable(types) }
    guard let schema = library.newSchema(Self.schema, 0, types) else { throw SystemError(ENOMEM, "secret_schema_newv") }
    var failure: SecretLibrary.Failure?
    // An object of its own: the one that libsecret shares outlives a service that has ended.
    guard
      let service = library.open(library.serviceType(), nil, Self.opensSession, cancellation.object, &failure)
    else {
      library.releaseSchema(schema)
      throw SecretStoreUnavailable(.noService(Self.text(library, failure).text))
    }
    self.service = service
    self.schema = schema
    // libsecret takes what the service offers. Unencrypted, a program that watches the bus sees the secrets.
    guard library.sessionAlgorithms(service).map({ String(cString: $0).hasPrefix("dh-") }) == true else {
      throw SecretStoreUnavailable(.noEncryption)
    }
  }

  deinit {
    library.releaseSchema(schema)
    library.releaseObject(service)
  }

  /// An item as the service has it.
  final class Item {
    fileprivate let object: SecretLibrary.Object
    private let library: SecretLibrary

    fileprivate init(_ object: SecretLibrary.Object, _ library: SecretLibrary) {
      self.object = object
      self.library = library
    }

    deinit { library.releaseObject(object) }

    var isLocked: Bool { library.isItemLocked(object) != 0 }

    var attributes: SecretAttributes {
      guard let table = library.itemAttributes(object) else { return SecretAttributes() }
      defer { library.releaseTable(table) }
      return SecretAttributes(
        ofItem: SecretAttributes.Name.allCases.compactMap { name in
          library.lookup(table, name.rawValue).map {
            (name.rawValue, String(cString: $0.assumingMemoryBound(to: CChar.self)))
          }
        })
    }

    /// nil when the secret is not loaded.
    func secret() throws -> SecretBytes? {
      guard let value = library.itemSecret(object) else { return nil }
      defer { library.releaseSecret(value) }
      var count: UInt = 0
      let start = library.secretBytes(value, &count)
      return try SecretBytes(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(clamping: count)))
    }
  }

  /// - Parameter loadsSecrets: of the items that are not locked.
  func search(_ attributes: SecretAttributes, loadsSecrets: Bool) throws -> [Item] {
    let table = try library.table(attributes.present)
    defer { library.releaseTable(table) }
    // SECRET_SEARCH_ALL, SECRET_SEARCH_LOAD_SECRETS.
    let flags: CInt = 1 << 1 | (loadsSecrets ? 1 << 3 : 0)
    var failure: SecretLibrary.Failure?
    let list = library.search(service, schema, table, flags, cancellation.object, &failure)
    let items = library.take(list).map { Item($0, library) }
    try check(failure)
    return items
  }

  /// Asks the user, if there is a prompter. Returns whether all of them are unlocked then.
  func unlock(_ items: [Item]) throws -> Bool {
    guard !items.isEmpty else { return true }
    var nodes = items.map { clinux_g_list(data: UnsafeMutableRawPointer($0.object), next: nil, previous: nil) }
    var failure: SecretLibrary.Failure?
    let count = nodes.withUnsafeMutableBufferPointer { nodes -> CInt in
      guard let first = nodes.baseAddress else { return 0 }
      for index in nodes.indices.dropFirst() {
        nodes[index - 1].next = first + index
        nodes[index].previous = first + index - 1
      }
      var unlocked: SecretLibrary.List?
      let count = library.unlock(service, first, cancellation.object, &unlocked, &failure)
      for object in library.take(unlocked) { library.releaseObject(object) }
      return count
    }
    try check(failure)
    return count >= items.count
  }

  /// Whether the collection that new items go into can take them without a question to the user.
  func isReadyToStore() throws -> Bool {
    var failure: SecretLibrary.Failure?
    let collection = library.collection(service, "default", 0, cancellation.object, &failure)
    try check(failure)
    guard let collection else { return false }
    defer { library.releaseObject(collection) }
    return library.isCollectionLocked(collection) == 0
  }

  /// Asks the user where the collection is locked or has to be made.
  func store(_ secret: SecretBytes, for attributes: SecretAttributes) throws {
    let table = try library.table(attributes.complete)
    defer { library.releaseTable(table) }
    // The library wants an address for an empty secret too.
    var empty: UInt8 = 0
    let value = secret.withBytes { bytes in
      withUnsafePointer(to: &empty) {
        library.newSecret(bytes.baseAddress ?? UnsafeRawPointer($0), bytes.count, "text/plain")
      }
    }
    guard let value else { throw SystemError(ENOMEM, "secret_value_new") }
    defer { library.releaseSecret(value) }
    var failure: SecretLibrary.Failure?
    let isStored = library.store(
      service, schema, table, nil, attributes.label, value, cancellation.object, &failure)
    try check(failure)
    // A question that the user dismissed is no failure to libsecret.
    guard isStored != 0 else { throw SecretStoreUnavailable(.locked) }
  }

  func delete(_ item: Item) throws {
    var failure: SecretLibrary.Failure?
    _ = library.delete(item.object, cancellation.object, &failure)
    try check(failure)
  }

  private func check(_ failure: SecretLibrary.Failure?) throws {
    guard let failure else { return }
    let (text, isLocked) = Self.text(library, failure)
    throw SecretStoreUnavailable(isLocked ? .locked : .failed(text))
  }

  /// The sentence of a failure, which is given back, and whether it is that the items are locked.
  private static func text(
    _ library: SecretLibrary, _ failure: SecretLibrary.Failure?
  ) -> (text: String, isLocked: Bool) {
    guard let failure else { return ("no reason given", false) }
    defer { library.releaseFailure(failure) }
    // SECRET_ERROR_IS_LOCKED
    let isLocked = failure.pointee.domain == library.secretErrorDomain() && failure.pointee.code == 2
    return (failure.pointee.message.map { String(cString: $0) } ?? "no reason given", isLocked)
  }
}
