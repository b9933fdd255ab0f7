import Foundation
import Glibc
import HTTPTransport
import LoopbackServer
import NIOCore
import NIOPosix
import Testing

@testable import URLLoadingSystem

@Suite struct TrafficClassTests {
  typealias ServiceType = URLRequest.NetworkServiceType

  /// RFC 4594 §2.3, RFC 8622.
  @Test(
    arguments: [
      (.default, 0, 0), (.background, 8, 1), (.responsiveData, 18, 3), (.avStreaming, 26, 4), (.video, 34, 5),
      (.responsiveAV, 34, 5), (.voip, 40, 6), (.callSignaling, 40, 6), (.voice, 46, 6),
    ] as [(ServiceType, UInt8, UInt8)])
  func marks(_ type: ServiceType, _ dscp: UInt8, _ priority: UInt8) {
    #expect(TrafficClass(type) == TrafficClass(dscp: dscp, priority: priority))
  }

  @Test(
    arguments: [
      (.default, .default, .default), (.default, .video, .video), (.voice, .video, .voice),
      (.background, .default, .background),
    ] as [(ServiceType, ServiceType, ServiceType)])
  func theRequestComesBeforeItsSession(_ own: ServiceType, _ session: ServiceType, _ used: ServiceType) throws {
    var request = URLRequest(url: try #require(URL(string: "http://host/")))
    request.networkServiceType = own
    var configuration = LoadConfiguration()
    configuration.networkServiceType = session
    #expect(TrafficClass(request, ofSession: configuration.networkServiceType) == TrafficClass(used))
  }

  /// The marks of the sockets that a load made, read back from this process's own descriptors: a server can't see
  /// them, since TCP hands received marks to nobody.
  @Test(arguments: [(.voice, 46), (.default, 0)] as [(ServiceType, Int32)])
  func theSocketIsMarked(_ type: ServiceType, _ dscp: Int32) async throws {
    try await withServer({ .ok($0.target) }) { server in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.networkServiceType = type
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url())
      let marks = TrafficClassTests.marks(ofSocketsTo: server.port)
      #expect(marks.count == 1)
      #expect(marks.allSatisfy { $0 >> 2 == dscp })
    }
  }

  /// The type of service of every connected IPv4 socket of this process whose other end is `port`.
  private static func marks(ofSocketsTo port: Int) -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.compactMap(Int32.init).compactMap { descriptor in
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let found = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
      }
      guard found == 0, Int32(address.sin_family) == AF_INET, Int(UInt16(bigEndian: address.sin_port)) == port else {
        return nil
      }
      var mark: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      return getsockopt(descriptor, Int32(IPPROTO_IP), IP_TOS, &mark, &size) == 0 ? mark : nil
    }
  }
}
