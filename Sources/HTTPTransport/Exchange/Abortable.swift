/// A wait that can be cut short, on its event loop.
package protocol Abortable: AnyObject {
  /// Makes the wait end soon, with `error`.
  func abort(_ error: any Error)
}
