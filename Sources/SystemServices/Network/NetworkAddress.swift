/// An IP address as the kernel has it: 4 or 16 bytes.
package struct NetworkAddress: Hashable, Sendable {
  package let bytes: [UInt8]
  /// The index of the interface that a link-local address belongs to; 0 for none.
  package let interface: UInt32

  package init(_ bytes: [UInt8], interface: UInt32 = 0) {
    self.bytes = bytes
    self.interface = interface
  }
}
