import NIOCore

/// Several requests in a row before the first is answered (RFC 9112 §9.3.2).
///
/// Only requests that may be repeated without harm, on a connection that has shown that it stays open, and only a few: no
/// more than the server said that it still takes.
/// Responses come in the order of the requests. When the connection ends before a follower's turn, its request meets the
/// error of a stale connection, so that it is sent again elsewhere.
extension HTTP1Connection {
  private static let depth = 6

  var followerCount: Int? {
    guard let exchange, exchangeCount > 1, isOpenForMore, followers.count < HTTP1Connection.depth,
      followers.count + 1 < keepAlive?.max ?? .max, exchange.mayBeFollowed, followers.allSatisfy(\.mayBeFollowed)
    else { return nil }
    return followers.count
  }

  func startFollower() -> any HTTPExchange {
    let follower = makeExchange()
    followers.append(follower)
    return follower
  }

  func isTurn(of exchange: HTTP1Exchange) -> Bool { self.exchange === exchange }

  /// The connection ends before their responses.
  func failFollowers() {
    guard !followers.isEmpty else { return }
    let all = followers
    followers = []
    for follower in all { follower.turnWillNotCome() }
  }
}
