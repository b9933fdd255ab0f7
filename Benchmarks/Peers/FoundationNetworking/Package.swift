// swift-tools-version: 6.2
import PackageDescription

// The same client as ours, from the same files (symbolic links), over the toolchain's FoundationNetworking.
let package = Package(
  name: "foundation-networking-peer",
  targets: [
    .target(name: "Harness"),
    .executableTarget(name: "URLSessionClient", dependencies: ["Harness"]),
  ]
)
