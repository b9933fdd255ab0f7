/// Bits that other threads look at without taking the task's lock.
enum TaskFlags {
  /// The progress object was made.
  static let hasProgress: UInt8 = 1
  /// The app has read a property, so its changes are told.
  static let isObserved: UInt8 = 2
  /// The task was cancelled: of its events only those about its end are still told.
  static let isCancelled: UInt8 = 4

  /// Its session has consumers of events.
  static let hasConsumers: UInt8 = 8

  /// Set when a change of the task must be shown anywhere.
  static let isWatched = hasProgress | isObserved | hasConsumers
}
