import Glibc
import NIOCore
import SystemServices

/// The system's resolver: /etc/hosts, nsswitch, DNS.
enum SystemNames {
  /// Blocks for as long as name servers take.
  static func ask(_ question: NameQuestion) -> NameAnswer {
    let answer = askSystem(question)
    guard case .failure(let failure) = answer, failure.isAbsence, isLocalhost(question.host) else { return answer }
    // RFC 6761 §6.3: the name stands for this machine in both families, though the hosts file may tell of one alone.
    return .success([NetworkAddress(question.family == .v4 ? [127, 0, 0, 1] : Array(repeating: 0, count: 15) + [1])])
  }

  static func isLocalhost(_ host: String) -> Bool {
    let name = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
    return (name.last == "" ? name.dropLast() : name[...]).last == "localhost"
  }

  private static func askSystem(_ question: NameQuestion) -> NameAnswer {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_family = question.family == .v4 ? AF_INET : AF_INET6
    if question.onlyUsableFamilies { hints.ai_flags = AI_ADDRCONFIG }
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(question.host, nil, &hints, &list)
    guard status == 0 else { return .failure(failure(status)) }
    defer { freeaddrinfo(list) }
    var addresses: [NetworkAddress] = []
    var next = list
    while let entry = next {
      if let address = entry.pointee.ai_addr, let found = NetworkAddress(address, entry.pointee.ai_family) {
        addresses.append(found)
      }
      next = entry.pointee.ai_next
    }
    return addresses.isEmpty
      ? .failure(NameFailure(reason: "the name has no address", isAbsence: true)) : .success(addresses)
  }

  /// EAI_NODATA and EAI_ADDRFAMILY, which not every C library's headers show.
  private static let noData: Int32 = -5
  private static let addressFamily: Int32 = -9

  /// The return value of `getaddrinfo`.
  static func failure(_ status: Int32) -> NameFailure {
    let isAbsence = status == EAI_NONAME || status == noData || status == addressFamily
    return NameFailure(reason: String(cString: gai_strerror(status)), isAbsence: isAbsence)
  }
}

extension NetworkAddress {
  fileprivate init?(_ address: UnsafeMutablePointer<sockaddr>, _ family: Int32) {
    switch family {
    case AF_INET:
      let found = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee, host: "") }
      self.init(found)
    case AF_INET6:
      let found = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee, host: "") }
      self.init(found)
    default: return nil
    }
  }
}
