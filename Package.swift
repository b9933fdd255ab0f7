// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target of our own: Swift 6 language mode (the tools version's default) and no warnings.
let ours: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// Settings of the targets that a load runs through: an `async` call stays where its caller is, without asking the
/// runtime at every step whether it has to move.
let onTheLoop: [SwiftSetting] = ours + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
  .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
]
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let http2: [Target.Dependency] = [
  .product(name: "NIOHTTP2", package: "swift-nio-http2"),
  .product(name: "NIOHPACK", package: "swift-nio-http2"),
]
let certificates: [Target.Dependency] = [
  .product(name: "X509", package: "swift-certificates"),
  .product(name: "SwiftASN1", package: "swift-asn1"),
  .product(name: "Crypto", package: "swift-crypto"),
  .product(name: "_CryptoExtras", package: "swift-crypto"),
]
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")

/// The web page of the command is built with the trait `Web`, or where `WEB` is set (Docs/Decisions/0151).
let buildsWebPage = Context.environment["WEB"] != nil
let withWebPage: TargetDependencyCondition? = buildsWebPage ? nil : .when(traits: ["Web"])
let ofWebPage: [SwiftSetting] = ours + (buildsWebPage ? [.define("Web")] : [])

/// HTTP/3 is spoken with the trait `HTTP3`, or where `HTTP3` is set (Docs/Decisions/0190).
let speaksHTTP3 = Context.environment["HTTP3"] != nil
let withHTTP3: TargetDependencyCondition? = speaksHTTP3 ? nil : .when(traits: ["HTTP3"])
let ofHTTP3: [SwiftSetting] = onTheLoop + (speaksHTTP3 ? [.define("HTTP3")] : [])

let package = Package(
  name: "swift-url-loading-system",
  products: [
    .library(name: "URLLoadingSystem", targets: ["URLLoadingSystem"]),
    .library(name: "FoundationNetworking", targets: ["FoundationNetworking"]),
    .library(name: "URLSessionOpenCombine", targets: ["URLSessionOpenCombine"]),
    .executable(name: "urlsessiond", targets: ["urlsessiond"]),
    .executable(name: "urlsession", targets: ["urlsession"]),
  ],
  traits: [
    .trait(name: "Web", description: "The web page of the command: urlsession web."),
    .trait(name: "HTTP3", description: "HTTP/3, with ngtcp2, nghttp3 and GnuTLS of the system."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
  ],
  targets: [
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .target(name: "CLinux"),
    .target(name: "CTLSSessions"),
    .target(
      name: "CQUIC",
      linkerSettings: ["ngtcp2_crypto_gnutls", "ngtcp2", "nghttp3", "gnutls"].map { .linkedLibrary($0) }),
    .target(
      name: "HTTPSemantics",
      dependencies: [
        .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: ours),
    .target(name: "TransferProtocol", swiftSettings: ours),
    .target(name: "SystemServices", dependencies: ["CLinux"], swiftSettings: ours),
    .target(
      name: "HTTPTransport",
      dependencies: [
        "HTTPSemantics", "SystemServices", "CTLSSessions", "CZlib", nioSSL, nioTLS, collections,
        .product(name: "Crypto", package: "swift-crypto"),
        .target(name: "CQUIC", condition: withHTTP3),
      ] + nio + http2,
      swiftSettings: ofHTTP3),
    .target(
      name: "FTPTransport",
      dependencies: ["HTTPSemantics", "HTTPTransport", .product(name: "NIOCore", package: "swift-nio")],
      swiftSettings: onTheLoop),
    .target(
      name: "URLLoadingSystem",
      dependencies: [
        "HTTPSemantics", "HTTPTransport", "FTPTransport", "SystemServices", "TransferProtocol", "CZlib", "CBrotli",
        "CZstd", collections,
        .product(name: "GRDB", package: "GRDB.swift"),
      ] + nio + certificates,
      swiftSettings: onTheLoop),
    .target(name: "FoundationNetworking", dependencies: ["URLLoadingSystem"], swiftSettings: ours),
    .target(
      name: "URLSessionOpenCombine",
      dependencies: ["URLLoadingSystem", .product(name: "OpenCombine", package: "OpenCombine")], swiftSettings: ours),
    .target(
      name: "TransferService",
      dependencies: [
        "HTTPTransport", "URLLoadingSystem", "HTTPSemantics", "SystemServices", "TransferProtocol", logging,
        collections,
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ] + nio,
      swiftSettings: ours),
    .executableTarget(
      name: "urlsessiond",
      dependencies: [
        "TransferService", "SystemServices", "TransferProtocol", "CLinux", logging, collections,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: ours),
    .target(name: "CommandLineOutput", swiftSettings: ours),
    .target(
      name: "WebPage",
      dependencies: [
        .product(name: "Hummingbird", package: "hummingbird", condition: withWebPage),
        .product(name: "Logging", package: "swift-log", condition: withWebPage),
        .product(name: "NIOCore", package: "swift-nio", condition: withWebPage),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: withWebPage),
        .product(name: "HTTPTypes", package: "swift-http-types", condition: withWebPage),
      ],
      resources: [
        .embedInCode("Files/page.html"), .embedInCode("Files/page.css"), .embedInCode("Files/page.js"),
      ],
      swiftSettings: ofWebPage),
    .executableTarget(
      name: "urlsession",
      dependencies: [
        "URLLoadingSystem", "TransferProtocol", "HTTPSemantics", "SystemServices", "CommandLineOutput", "WebPage",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: ofWebPage),
    .executableTarget(
      name: "background-download", dependencies: ["FoundationNetworking"], path: "Examples/BackgroundDownload",
      swiftSettings: ours),
    .executableTarget(
      name: "demo", dependencies: ["URLLoadingSystem", "CommandLineOutput", "LoopbackServer"], path: "Examples/Demo",
      swiftSettings: ours),
    .executableTarget(
      name: "stress", dependencies: ["URLLoadingSystem", "LoopbackServer"], path: "Examples/Stress",
      swiftSettings: ours),
    .target(
      name: "LoopbackServer", dependencies: ["ChildProcess", nioSSL, nioTLS] + nio + http2,
      path: "Tests/Support/LoopbackServer",
      swiftSettings: ours),
    .target(
      name: "EveryVersion", dependencies: ["LoopbackServer", "URLLoadingSystem"], path: "Tests/Support/EveryVersion",
      swiftSettings: ours),
    .target(
      name: "FuzzTargets",
      dependencies: [
        "HTTPSemantics", "HTTPTransport", "TransferProtocol", "URLLoadingSystem",
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHPACK", package: "swift-nio-http2"),
        .target(name: "CQUIC", condition: withHTTP3),
      ],
      path: "Fuzz/Targets", swiftSettings: ours + (speaksHTTP3 ? [.define("HTTP3")] : [])),
    .testTarget(name: "FuzzTargetsTests", dependencies: ["FuzzTargets"], swiftSettings: ours),
    .target(name: "ChildProcess", path: "Tests/Support/ChildProcess", swiftSettings: ours),
    .target(
      name: "RealServers", dependencies: ["ChildProcess"], path: "Tests/Support/RealServers", swiftSettings: ours),
    .testTarget(
      name: "LoopbackServerTests", dependencies: ["ChildProcess", "LoopbackServer", "RealServers"] + nio,
      swiftSettings: ours),
    .target(
      name: "SystemFakes", dependencies: ["SystemServices"], path: "Tests/Support/SystemFakes", swiftSettings: ours),
    .testTarget(name: "CommandLineOutputTests", dependencies: ["CommandLineOutput"], swiftSettings: ours),
    .testTarget(name: "WebPageTests", dependencies: ["WebPage"], swiftSettings: ours),
    .testTarget(
      name: "urlsessionTests",
      dependencies: [
        "urlsession", "urlsessiond", "URLLoadingSystem", "SystemServices", "TransferProtocol", "CommandLineOutput",
        "LoopbackServer", "ChildProcess", "RealServers", "WebPage",
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: ours),
    .testTarget(name: "TransferProtocolTests", dependencies: ["TransferProtocol"], swiftSettings: ours),
    .testTarget(
      name: "SystemServicesTests",
      dependencies: [
        "CLinux", "SystemServices", "SystemFakes", "RealServers", "ChildProcess", "LoopbackServer", "system-probe",
      ],
      swiftSettings: ours),
    .executableTarget(
      name: "system-probe", dependencies: ["SystemServices", "CLinux"], path: "Tests/Support/SystemProbe",
      swiftSettings: ours),
    .testTarget(
      name: "TransferServiceTests",
      dependencies: [
        "TransferService", "URLLoadingSystem", "HTTPTransport", "TransferProtocol", "SystemServices", "HTTPSemantics",
        "SystemFakes", "LoopbackServer", "EveryVersion", "ChildProcess", logging,
        .product(name: "GRDB", package: "GRDB.swift"),
      ] + nio,
      exclude: ["Store/Samples/Files"], swiftSettings: ours),
    .target(name: "TransferScript", path: "Tests/Support/TransferScript", swiftSettings: ours),
    .executableTarget(
      name: "transfer-app", dependencies: ["URLLoadingSystem", "TransferProtocol", "TransferScript"],
      path: "Tests/Support/TransferApp", swiftSettings: ours),
    .executableTarget(
      name: "connectivity-probe", dependencies: ["URLLoadingSystem", "LoopbackServer"],
      path: "Tests/Support/ConnectivityProbe", swiftSettings: ours),
    .executableTarget(name: "network-link", path: "Benchmarks/Link", exclude: ["Makefile"]),
    .executableTarget(
      name: "load-app", dependencies: ["URLLoadingSystem"], path: "Tests/Support/LoadApp", swiftSettings: ours),
    .executableTarget(
      name: "store-app", dependencies: ["URLLoadingSystem"], path: "Tests/Support/StoreApp", swiftSettings: ours),
    .executableTarget(
      name: "cache-writer", dependencies: ["URLLoadingSystem"], path: "Tests/Support/CacheWriter", swiftSettings: ours),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "URLLoadingSystem", "TransferProtocol", "HTTPTransport", "LoopbackServer", "RealServers", "TransferScript",
        "SystemFakes", "SystemServices", "transfer-app", "connectivity-probe", "urlsessiond", "background-download",
        "ChildProcess", "store-app", "system-probe", "load-app", "network-link",
        "HTTPSemantics",
        .product(name: "Crypto", package: "swift-crypto"),
        .target(name: "CQUIC", condition: withHTTP3),
      ] + nio,
      swiftSettings: ours + (speaksHTTP3 ? [.define("HTTP3")] : [])),
    .testTarget(
      name: "DropInSwift5Tests", dependencies: ["FoundationNetworking", "LoopbackServer"],
      path: "Tests/DropInTests/Swift5",
      swiftSettings: [
        .swiftLanguageMode(.v5), .treatWarning("SendableClosureCaptures", as: .error),
      ]),
    .testTarget(
      name: "DropInSwift6Tests", dependencies: ["FoundationNetworking", "LoopbackServer"],
      path: "Tests/DropInTests/Swift6", swiftSettings: ours),
    .testTarget(
      name: "URLSessionOpenCombineTests",
      dependencies: [
        "URLSessionOpenCombine", "URLLoadingSystem", "LoopbackServer", "EveryVersion",
        .product(name: "OpenCombine", package: "OpenCombine"),
      ],
      swiftSettings: ours),
    .testTarget(name: "HTTPSemanticsTests", dependencies: ["HTTPSemantics"], swiftSettings: ours),
    .testTarget(
      name: "HTTPTransportTests",
      dependencies: [
        "HTTPTransport", "HTTPSemantics", "SystemServices", "LoopbackServer", "RealServers", "SystemFakes",
      ] + nio + http2,
      swiftSettings: ours),
    .testTarget(
      name: "FTPTransportTests",
      dependencies: ["FTPTransport", "HTTPTransport", "HTTPSemantics", "LoopbackServer"] + nio,
      swiftSettings: onTheLoop),
    .testTarget(
      name: "URLLoadingSystemTests",
      dependencies: [
        "URLLoadingSystem", "HTTPSemantics", "HTTPTransport", "TransferProtocol", "CZlib", "CBrotli", "CZstd",
        "LoopbackServer", "EveryVersion", "RealServers", "SystemServices", "SystemFakes", "ChildProcess",
        "cache-writer",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "NIOResumableUpload", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
        .product(name: "HTTPTypes", package: "swift-http-types"), nioSSL,
      ] + nio + certificates,
      swiftSettings: ours),
  ]
)

// The plugin of `make docs` is a dependency only there: a package that uses this one has no need to fetch it.
if Context.environment["URL_LOADING_DOCUMENTATION"] != nil {
  package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// Scripts/examples sets the variable, builds them and runs them (Docs/Decisions/0114).
if Context.environment["EXAMPLES"] != nil {
  for (name, folder) in [
    ("background-relaunch", "BackgroundRelaunch"),
    ("certificate-pinning", "CertificatePinning"),
    ("challenges", "Challenges"),
    ("configurations", "Configurations"),
    ("data-task", "DataTask"),
    ("download-manager", "DownloadManager"),
    ("download-resume", "DownloadResume"),
    ("mock-protocol", "MockProtocol"),
    ("redirect-refusal", "RedirectRefusal"),
    ("server-sent-events", "ServerSentEvents"),
    ("stream-upload", "StreamUpload"),
    ("token-refresh", "TokenRefresh"),
    ("trust-evaluation", "TrustEvaluation"),
    ("uploads", "Uploads"),
    ("will-cache-response", "WillCacheResponse"),
  ] {
    package.targets.append(
      .executableTarget(
        name: name, dependencies: ["FoundationNetworking"], path: "Examples/\(folder)", exclude: ["expected.txt"],
        swiftSettings: ours))
  }
}
