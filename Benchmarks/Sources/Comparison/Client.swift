/// The programs that are compared. All of them understand the same command line.
enum Client: String, CaseIterable {
  case ours
  case foundationNetworking = "FoundationNetworking"
  case asyncHTTPClient = "async-http-client"
  case libcurlMulti = "libcurl multi"
  /// The same with callers in other threads than the one that runs libcurl.
  case libcurlThreads = "libcurl over threads"
  case curlProgram = "curl"
  case h2load
  case aioquic
  /// The transfer service, through the library or the command.
  case service = "urlsessiond"
  case aria2
  /// The commands `urlsession` and curl, one process for each load.
  case command

  /// Where its program is, below the directory `Benchmarks`.
  var path: String {
    switch self {
    case .ours: ".build/release/URLSessionClient"
    case .foundationNetworking: "Peers/FoundationNetworking/.build/release/URLSessionClient"
    case .asyncHTTPClient: "Peers/AsyncHTTPClient/.build/release/AsyncHTTPClientClient"
    case .libcurlMulti: "Peers/Curl/.build/curl-multi"
    case .libcurlThreads: "Peers/Curl/.build/curl-threads"
    case .curlProgram: "Peers/Curl/.build/curl-program"
    case .h2load: "Peers/Curl/.build/h2load-program"
    case .aioquic: "Peers/Aioquic/.build/client"
    case .service, .aria2, .command: ".build/release/ServiceClient"
    }
  }

  /// What its program needs in the environment to trust the authority in the file `authority`, besides `--ca`.
  func environment(trusting authority: String, in directory: String) -> [String: String] {
    switch self {
    case .ours: ["SSL_CERT_FILE": authority]
    case .foundationNetworking:
      ["LD_PRELOAD": "\(directory)/Peers/Curl/.build/libtrust.so", "BENCHMARK_CA": authority]
    case .asyncHTTPClient, .libcurlMulti, .libcurlThreads, .curlProgram, .h2load, .aioquic, .service, .aria2, .command:
      [:]
    }
  }

  /// What its program needs in the environment to go through the proxy `proxy`, besides `--proxy`. The libcurl beneath
  /// the toolchain's FoundationNetworking listens to nothing else.
  func environment(going proxy: String) -> [String: String] {
    self == .foundationNetworking ? ["http_proxy": proxy] : [:]
  }

  /// What its program needs in the environment to have so many event loops, where SwiftNIO makes them.
  func environment(loops: Int) -> [String: String] {
    [.ours, .asyncHTTPClient].contains(self) ? ["NIO_SINGLETON_GROUP_LOOP_COUNT": "\(loops)"] : [:]
  }
}
