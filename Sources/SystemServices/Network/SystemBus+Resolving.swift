import Foundation

extension SystemBus {
  struct ResolvedName {
    var addresses: [NetworkAddress] = []
    /// `SD_RESOLVED_…`: how the answer was found.
    var flags: UInt64 = 0
  }

  /// Calls ResolveHostname (isit) → (a(iiay)st) of systemd-resolved, for addresses of both families.
  func resolve(_ object: Object, _ host: String) throws -> ResolvedName {
    try ask(object, "ResolveHostname") { message in
      // Any interface, either address family, no flags.
      try append(message, Int32(0), "i")
      try append(message, host)
      try append(message, Int32(0), "i")
      try append(message, UInt64(0), "t")
    } reading: { reply in
      var name = ResolvedName()
      try enter(reply, "a", "(iiay)")
      while try enter(reply, "r", "iiay") {
        let interface = try read(reply, "i", as: Int32.self)
        let family = try read(reply, "i", as: Int32.self)
        let bytes = try self.bytes(reply)
        if family == AF_INET, bytes.count == 4 { name.addresses.append(NetworkAddress(bytes)) }
        if family == AF_INET6, bytes.count == 16 {
          let isLinkLocal = bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
          name.addresses.append(NetworkAddress(bytes, interface: isLinkLocal ? UInt32(max(0, interface)) : 0))
        }
        try leave(reply)
      }
      try leave(reply)
      _ = try text(reply, "s")
      name.flags = try read(reply, "t", as: UInt64.self)
      return name
    }
  }

  /// Calls ResolveRecord (isqqt) → (a(iqqay)t) of systemd-resolved, for records of the Internet's class.
  func records(_ object: Object, _ name: String, _ type: UInt16) throws -> [[UInt8]] {
    try ask(object, "ResolveRecord") { message in
      // Any interface, no flags.
      try append(message, Int32(0), "i")
      try append(message, name)
      try append(message, UInt16(1), "q")
      try append(message, type, "q")
      try append(message, UInt64(0), "t")
    } reading: { reply in
      var records: [[UInt8]] = []
      try enter(reply, "a", "(iqqay)")
      while try enter(reply, "r", "iqqay") {
        _ = try read(reply, "i", as: Int32.self)
        _ = try read(reply, "q", as: UInt16.self)
        _ = try read(reply, "q", as: UInt16.self)
        records.append(try bytes(reply))
        try leave(reply)
      }
      try leave(reply)
      return records
    }
  }
}
