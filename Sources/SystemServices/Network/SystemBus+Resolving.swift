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

  struct ResolvedAnswer {
    var records: [[UInt8]] = []
    /// `SD_RESOLVED_…`: how the answer was found.
    var flags: UInt64 = 0
  }

  /// Calls ResolveRecord (isqqt) → (a(iqqay)t) of systemd-resolved, for records of the Internet's class.
  ///
  /// - Parameter flags: `SD_RESOLVED_…`: how the answer may be found; 0 for all ways.
  func records(_ object: Object, _ name: String, _ type: UInt16, flags: UInt64 = 0) throws -> ResolvedAnswer {
    try ask(object, "ResolveRecord") { message in
      // Any interface.
      try append(message, Int32(0), "i")
      try append(message, name)
      try append(message, UInt16(1), "q")
      try append(message, type, "q")
      try append(message, flags, "t")
    } reading: { reply in
      var answer = ResolvedAnswer()
      try enter(reply, "a", "(iqqay)")
      while try enter(reply, "r", "iqqay") {
        _ = try read(reply, "i", as: Int32.self)
        _ = try read(reply, "q", as: UInt16.self)
        _ = try read(reply, "q", as: UInt16.self)
        answer.records.append(try bytes(reply))
        try leave(reply)
      }
      try leave(reply)
      answer.flags = try read(reply, "t", as: UInt64.self)
      return answer
    }
  }

  /// The numbers of the interfaces that have name servers, as the property `DNS` of systemd-resolved's manager says; 0 stands
  /// for servers of the machine.
  func interfacesWithServers(_ object: Object) throws -> Set<Int32> {
    try get("DNS", of: object, type: "a(iiay)") { reply in
      var interfaces: Set<Int32> = []
      try enter(reply, "a", "(iiay)")
      while try enter(reply, "r", "iiay") {
        interfaces.insert(try read(reply, "i", as: Int32.self))
        _ = try read(reply, "i", as: Int32.self)
        _ = try bytes(reply)
        try leave(reply)
      }
      return interfaces
    }
  }

  /// Calls GetLink (i) → o of systemd-resolved.
  func link(_ object: Object, _ interface: Int32) throws -> String {
    try ask(object, "GetLink") {
      try append($0, interface, "i")
    } reading: {
      try text($0, "o")
    }
  }
}
