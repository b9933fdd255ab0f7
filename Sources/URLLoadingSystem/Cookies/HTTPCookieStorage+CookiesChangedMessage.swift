import Foundation

extension HTTPCookieStorage {
  /// Tells that the set of cookies of a store has changed: the typed form of `.NSHTTPCookieManagerCookiesChanged`.
  public struct CookiesChangedMessage: NotificationCenter.AsyncMessage {
    public typealias Subject = HTTPCookieStorage

    public static var name: Notification.Name { .NSHTTPCookieManagerCookiesChanged }

    public init() {}

    public static func makeMessage(_ notification: Notification) -> Self? { Self() }

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
