import NIOCore
import NIOPosix
import SystemServices

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// Asks the system's resolver (`getaddrinfo`: /etc/hosts, nsswitch, DNS) once for both address families, on a thread
/// kept for such questions, and remembers when the question was asked and answered.
final class SystemResolver: Resolver, @unchecked Sendable {
  private let loop: any EventLoop
  private let access: NetworkAccess?
  private let provenNames: ProvenNames?
  private var lookup: EventLoopFuture<[SocketAddress]>?
  private(set) var started: NIODeadline?
  private(set) var ended: NIODeadline?
  /// Why there is no address, in the resolver's words.
  private(set) var failure: String?
  /// Why no address may be connected to, although there are some.
  private(set) var excluded: NetworkTraits?

  /// Whether the failure is that nobody proved the answer.
  private(set) var isUnproven = false

  /// - Parameter access: which addresses may be connected to; nil for all.
  /// - Parameter provenNames: whom to ask instead of the system's resolver, who proves what it says.
  init(loop: any EventLoop, access: NetworkAccess? = nil, provenNames: ProvenNames? = nil) {
    self.loop = loop
    self.access = access
    self.provenNames = provenNames
  }

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    addresses(host, port).map { $0.filter { $0.protocol == .inet } }
  }

  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    addresses(host, port).map { $0.filter { $0.protocol == .inet6 } }
  }

  /// `getaddrinfo` can't be interrupted; its late answer is dropped.
  func cancelQueries() {}

  private func addresses(_ host: String, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
    if let lookup { return lookup }
    started = .now()
    let future = BlockingWork.lookups.runIfActive(eventLoop: loop) { [access, provenNames] in
      let found = provenNames.map { SystemResolver.prove(host, port, $0) } ?? SystemResolver.resolve(host, port)
      return found.flatMap { SystemResolver.choose($0, access) }
    }
    .flatMapResult { (result: Result<[SocketAddress], LookupFailure>) -> Result<[SocketAddress], LookupFailure> in
      self.ended = .now()
      if case .failure(let failure) = result {
        self.failure = failure.reason
        self.excluded = failure.excluded
        self.isUnproven = failure.isUnproven
      }
      return result
    }
    lookup = future
    return future
  }

  private struct LookupFailure: Error {
    let reason: String
    var excluded: NetworkTraits?
    var isUnproven = false
  }

  private static func prove(_ host: String, _ port: Int, _ names: ProvenNames) -> Result<[SocketAddress], LookupFailure>
  {
    do {
      return .success(try names.addresses(of: host).map { SocketAddress($0, port: port, host: host) })
    } catch {
      let reason =
        switch error {
        case .unavailable: "systemd-resolved, which could prove it, is not there or has no answer"
        case .unproven: "the domain is not signed, or systemd-resolved does not validate"
        }
      return .failure(LookupFailure(reason: reason, isUnproven: true))
    }
  }

  private static func choose(
    _ addresses: [SocketAddress], _ access: NetworkAccess?
  ) -> Result<[SocketAddress], LookupFailure> {
    guard let access else { return .success(addresses) }
    do { return .success(try access.permitted(addresses)) } catch {
      return .failure(LookupFailure(reason: "no network to it may be used", excluded: error.traits))
    }
  }

  private static func resolve(_ host: String, _ port: Int) -> Result<[SocketAddress], LookupFailure> {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG
    var list: UnsafeMutablePointer<addrinfo>?
    var status = getaddrinfo(host, String(port), &hints, &list)
    if status != 0 {
      // AI_ADDRCONFIG hides ::1 and 127.0.0.1 on a machine that has no address but loopback.
      hints.ai_flags = 0
      status = getaddrinfo(host, String(port), &hints, &list)
    }
    guard status == 0 else { return .failure(LookupFailure(reason: String(cString: gai_strerror(status)))) }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next {
      if let address = entry.pointee.ai_addr {
        switch entry.pointee.ai_family {
        case AF_INET:
          address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            addresses.append(SocketAddress($0.pointee, host: host))
          }
        case AF_INET6:
          address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
            addresses.append(SocketAddress($0.pointee, host: host))
          }
        default: break
        }
      }
      next = entry.pointee.ai_next
    }
    return addresses.isEmpty ? .failure(LookupFailure(reason: "the name has no address")) : .success(addresses)
  }
}
