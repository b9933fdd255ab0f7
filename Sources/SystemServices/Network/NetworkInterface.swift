import CLinux
import Foundation

/// A network interface of this machine, and what the kernel says about it.
package struct NetworkInterface: Hashable, Sendable {
  package let index: UInt32

  package init(index: UInt32) { self.index = index }

  /// The interface to which the kernel sends packets for an address.
  package enum Way: Hashable, Sendable {
    /// To this machine itself.
    case local
    case interface(NetworkInterface)
    /// Nowhere.
    case none
  }

  /// Asks the kernel's routing tables, rules included, for the way to `destination`.
  package static func way(to destination: NetworkAddress, from source: NetworkAddress? = nil) -> Way {
    // A link-local address says itself where it belongs.
    if destination.interface != 0 { return .interface(NetworkInterface(index: destination.interface)) }
    let source = source?.bytes.count == destination.bytes.count ? source : nil
    let index = destination.bytes.withUnsafeBytes { destination in
      source.map { $0.bytes.withUnsafeBytes { ask(destination, $0.baseAddress) } } ?? ask(destination, nil)
    }
    return index < 0 ? .none : index == 0 ? .local : .interface(NetworkInterface(index: UInt32(index)))
  }

  private static func ask(_ destination: UnsafeRawBufferPointer, _ source: UnsafeRawPointer?) -> CInt {
    clinux_route_interface(destination.baseAddress, source, UInt32(destination.count))
  }

  /// nil when it has gone.
  package var name: String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { buffer in
      guard let start = buffer.baseAddress, let name = if_indextoname(index, start) else { return nil }
      return String(cString: name)
    }
  }

  /// Adds what the kernel's folder for the interface says. `classes` is `/sys/class/net` but for tests.
  static func describe(_ name: String, in classes: String, _ facts: inout NetworkFacts) {
    guard !name.contains("/") else { return }
    let folder = classes + "/" + name
    let event = (try? String(contentsOfFile: folder + "/uevent", encoding: .utf8)) ?? ""
    facts.deviceType =
      event.split(separator: "\n").lazy
      .compactMap { $0.hasPrefix("DEVTYPE=") ? String($0.dropFirst("DEVTYPE=".count)) : nil }.first
    facts.isTunnel =
      facts.deviceType == "wireguard" || FileManager.default.fileExists(atPath: folder + "/tun_flags")
  }
}
