import Foundation

/// A proxy dictionary as a property list in XML, on its way to the transfer service and back.
package enum ProxyDictionaryText {
  /// nil when the dictionary has nothing that a property list can hold. What it can't hold is left out.
  package static func text(_ dictionary: [AnyHashable: Any]) -> String? {
    var list: [String: Any] = [:]
    for (key, value) in dictionary {
      guard let key = key.base as? String else { continue }
      let plain: Any = (value as? URL)?.absoluteString ?? value
      if PropertyListSerialization.propertyList(plain, isValidFor: .xml) { list[key] = plain }
    }
    guard let data = try? PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0) else {
      return nil
    }
    return String(decoding: data, as: UTF8.self)
  }

  /// The keys whose values do not get to the service and back. Keys that are not strings have no meaning.
  static func uncarriedKeys(of dictionary: [AnyHashable: Any]) -> [String] {
    dictionary.compactMap { key, value -> String? in
      guard let name = key.base as? String else { return nil }
      return text([key: value]).flatMap(ProxyDictionaryText.dictionary)?[name] == nil ? name : nil
    }.sorted()
  }

  /// nil for what is no dictionary.
  package static func dictionary(_ text: String) -> [AnyHashable: Any]? {
    (try? PropertyListReader.plainValue(of: Data(text.utf8))) as? [String: Any]
  }
}
