import Foundation

extension HTTPCookieStorage {
  /// Tells that the set of cookies of a store has changed: the typed form of `.NSHTTPCookieManagerCookiesChanged`.
  public struct CookiesChangedMessage: NotificationCenter.AsyncMessage {
    /// The object that posts the message: the store that has changed.
    public typealias Subject = HTTPCookieStorage

    /// The name of the notification that the message stands for.
    public static var name: Notification.Name { .NSHTTPCookieManagerCookiesChanged }

    /// A message. It has no content beside its subject.
    public init() {}

    /// The message for a notification that was posted by name.
    public static func makeMessage(_ notification: Notification) -> Self? { Self() }

    /// The notification for a message, for observers by name.
    public static func makeNotification(_ message: Self) -> Notification { Notification(name: name) }
  }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<HTTPCookieStorage.CookiesChangedMessage> {
  /// The message that the set of cookies of a store has changed.
  public static var cookiesChanged: NotificationCenter.BaseMessageIdentifier<HTTPCookieStorage.CookiesChangedMessage> {
    .init()
  }
}
