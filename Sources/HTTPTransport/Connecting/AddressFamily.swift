import SystemServices

/// The version of IP that an address is of.
package enum AddressFamily: Sendable, CaseIterable {
  case v4
  case v6

  package var other: AddressFamily { self == .v4 ? .v6 : .v4 }
}

extension NetworkAddress {
  var family: AddressFamily { bytes.count == 4 ? .v4 : .v6 }
}
