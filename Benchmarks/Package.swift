// swift-tools-version: 6.2
import PackageDescription

// The program that compares, and the client that is measured. Each peer is a package of its own under Peers/: two
// modules of the same name (FoundationNetworking is one of ours) cannot meet in one build.
let package = Package(
  name: "benchmarks",
  dependencies: [.package(name: "swift-url-loading-system", path: "..")],
  targets: [
    .target(name: "Harness"),
    .executableTarget(
      name: "URLSessionClient",
      dependencies: ["Harness", .product(name: "FoundationNetworking", package: "swift-url-loading-system")],
      swiftSettings: [.define("OURS")]),
    // Depends on the two programs so that they are built with it, for release, and the dependencies once for all.
    .executableTarget(
      name: "ServiceClient",
      dependencies: [
        "Harness", .product(name: "FoundationNetworking", package: "swift-url-loading-system"),
        .product(name: "urlsessiond", package: "swift-url-loading-system"),
        .product(name: "urlsession", package: "swift-url-loading-system"),
      ]),
    .executableTarget(name: "Comparison"),
  ]
)
