/// The version of HTTP that a message was sent in.
package struct HTTPVersion: Sendable, Hashable, Comparable {
  package var major: Int
  package var minor: Int

  package init(major: Int, minor: Int) {
    self.major = major
    self.minor = minor
  }

  package static let http10 = HTTPVersion(major: 1, minor: 0)
  package static let http11 = HTTPVersion(major: 1, minor: 1)
  package static let http2 = HTTPVersion(major: 2, minor: 0)
  package static let http3 = HTTPVersion(major: 3, minor: 0)

  package static func < (left: HTTPVersion, right: HTTPVersion) -> Bool {
    (left.major, left.minor) < (right.major, right.minor)
  }
}
