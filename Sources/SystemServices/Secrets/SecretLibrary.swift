import CLinux
import Foundation

/// libsecret, with the parts of GLib that it needs. Opened at run time where it is installed; nothing needs it.
///
/// Only functions without variable arguments: those that Swift can call through a pointer.
struct SecretLibrary: Sendable {
  static let name = "libsecret-1.so.0"
  /// nil where the library is not installed.
  static let shared = RuntimeLibrary(named: name).flatMap { try? SecretLibrary($0) }

  typealias Text = UnsafePointer<CChar>
  typealias OwnText = UnsafeMutablePointer<CChar>
  typealias Object = OpaquePointer
  typealias Table = OpaquePointer
  typealias List = UnsafeMutablePointer<clinux_g_list>
  typealias Failure = UnsafeMutablePointer<clinux_g_error>
  typealias NewFailure = UnsafeMutablePointer<Failure?>

  // The service.
  let serviceType: @convention(c) () -> UInt
  let open: @convention(c) (UInt, Text?, CInt, Object?, NewFailure) -> Object?
  let sessionAlgorithms: @convention(c) (Object) -> Text?
  let search: @convention(c) (Object, Object, Table, CInt, Object?, NewFailure) -> List?
  let store: @convention(c) (Object, Object, Table, Text?, Text, Object, Object?, NewFailure) -> CInt
  let unlock: @convention(c) (Object, List, Object?, UnsafeMutablePointer<List?>?, NewFailure) -> CInt
  let collection: @convention(c) (Object, Text, CInt, Object?, NewFailure) -> Object?
  let isCollectionLocked: @convention(c) (Object) -> CInt

  // Items, their secrets, and the schema that marks them.
  let isItemLocked: @convention(c) (Object) -> CInt
  let itemAttributes: @convention(c) (Object) -> Table?
  let itemSecret: @convention(c) (Object) -> Object?
  let delete: @convention(c) (Object, Object?, NewFailure) -> CInt
  let newSecret: @convention(c) (UnsafeRawPointer?, Int, Text) -> Object?
  let secretBytes: @convention(c) (Object, UnsafeMutablePointer<UInt>) -> UnsafeRawPointer?
  let releaseSecret: @convention(c) (Object) -> Void
  let newSchema: @convention(c) (Text, CInt, Table) -> Object?
  let releaseSchema: @convention(c) (Object) -> Void
  let secretErrorDomain: @convention(c) () -> UInt32

  // GLib.
  let releaseObject: @convention(c) (Object) -> Void
  let releaseFailure: @convention(c) (Failure) -> Void
  let releaseList: @convention(c) (List) -> Void
  let newTable:
    @convention(c) (
      UnsafeMutableRawPointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
    ) -> Table?
  let insert: @convention(c) (Table, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> CInt
  let lookup: @convention(c) (Table, Text) -> UnsafeMutableRawPointer?
  let releaseTable: @convention(c) (Table) -> Void
  let copy: @convention(c) (Text) -> OwnText?
  let newCancellable: @convention(c) () -> Object?
  let cancel: @convention(c) (Object) -> Void

  /// Functions that GLib calls.
  private let textHash: UInt
  private let textEqual: UInt
  private let releaseText: UInt

  private init(_ library: RuntimeLibrary) throws {
    serviceType = try library.function("secret_service_get_type")
    open = try library.function("secret_service_open_sync")
    sessionAlgorithms = try library.function("secret_service_get_session_algorithms")
    search = try library.function("secret_service_search_sync")
    store = try library.function("secret_service_store_sync")
    unlock = try library.function("secret_service_unlock_sync")
    collection = try library.function("secret_collection_for_alias_sync")
    isCollectionLocked = try library.function("secret_collection_get_locked")
    isItemLocked = try library.function("secret_item_get_locked")
    itemAttributes = try library.function("secret_item_get_attributes")
    itemSecret = try library.function("secret_item_get_secret")
    delete = try library.function("secret_item_delete_sync")
    newSecret = try library.function("secret_value_new")
    secretBytes = try library.function("secret_value_get")
    releaseSecret = try library.function("secret_value_unref")
    newSchema = try library.function("secret_schema_newv")
    releaseSchema = try library.function("secret_schema_unref")
    secretErrorDomain = try library.function("secret_error_get_quark")
    releaseObject = try library.function("g_object_unref")
    releaseFailure = try library.function("g_error_free")
    releaseList = try library.function("g_list_free")
    newTable = try library.function("g_hash_table_new_full")
    insert = try library.function("g_hash_table_insert")
    lookup = try library.function("g_hash_table_lookup")
    releaseTable = try library.function("g_hash_table_unref")
    copy = try library.function("g_strdup")
    newCancellable = try library.function("g_cancellable_new")
    cancel = try library.function("g_cancellable_cancel")
    textHash = UInt(bitPattern: try library.address("g_str_hash"))
    textEqual = UInt(bitPattern: try library.address("g_str_equal"))
    releaseText = UInt(bitPattern: try library.address("g_free"))
  }

  /// A table of texts that owns copies of them.
  ///
  /// - Throws: `SystemError` for a text with a zero byte, which would end there for C.
  func table(_ pairs: [(name: String, value: String)]) throws -> Table {
    guard pairs.allSatisfy({ !$0.value.utf8.contains(0) }) else { throw SystemError(EINVAL, "attributes of a secret") }
    let release = UnsafeMutableRawPointer(bitPattern: releaseText)
    let table = try emptyTable(releasingValues: release)
    for (name, value) in pairs { _ = insert(table, copy(name), copy(value)) }
    return table
  }

  /// The names of attributes, each with the type "text" (SECRET_SCHEMA_ATTRIBUTE_STRING, 0).
  func types(_ names: [String]) throws -> Table {
    let table = try emptyTable(releasingValues: nil)
    for name in names { _ = insert(table, copy(name), nil) }
    return table
  }

  private func emptyTable(releasingValues: UnsafeMutableRawPointer?) throws -> Table {
    guard let hash = UnsafeMutableRawPointer(bitPattern: textHash),
      let equal = UnsafeMutableRawPointer(bitPattern: textEqual),
      let table = newTable(hash, equal, UnsafeMutableRawPointer(bitPattern: releaseText), releasingValues)
    else { throw SystemError(ENOMEM, "g_hash_table_new_full") }
    return table
  }

  /// The objects of a list, which is given back; the objects are the caller's then.
  func take(_ list: List?) -> [Object] {
    var objects: [Object] = []
    var next = list
    while let node = next {
      if let object = node.pointee.data { objects.append(Object(object)) }
      next = node.pointee.next
    }
    if let list { releaseList(list) }
    return objects
  }
}
