/// A method that can be written with a completion handler or as `async`; either will do.
struct DelegateQuestion: Sendable {
  let mask: UInt64

  private init(_ callback: DelegateMethod, _ async: DelegateMethod) { mask = callback.bit | async.bit }

  static let sessionChallenge = DelegateQuestion(.sessionChallenge, .sessionChallengeAsync)
  static let delayedRequest = DelegateQuestion(.delayedRequest, .delayedRequestAsync)
  static let redirection = DelegateQuestion(.redirection, .redirectionAsync)
  static let taskChallenge = DelegateQuestion(.taskChallenge, .taskChallengeAsync)
  static let newBodyStream = DelegateQuestion(.newBodyStream, .newBodyStreamAsync)
  static let newBodyStreamFrom = DelegateQuestion(.newBodyStreamFrom, .newBodyStreamFromAsync)
  static let response = DelegateQuestion(.response, .responseAsync)
  static let willCache = DelegateQuestion(.willCache, .willCacheAsync)
}
