/// Why the transfer service can't be asked.
package struct ServiceUnavailable: Error, CustomStringConvertible {
  package let reason: String
  package var description: String { "The transfer service is not available: \(reason)." }
}
