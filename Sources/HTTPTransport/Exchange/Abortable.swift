/// A wait that can be cut short. Confined to one event loop.
package protocol Abortable: AnyObject {
  /// Makes the wait end soon, with `error`.
  func abort(_ error: any Error)
}
