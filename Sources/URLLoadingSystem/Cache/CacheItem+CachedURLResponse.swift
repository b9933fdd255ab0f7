import Foundation
import HTTPSemantics
import NIOCore

extension CacheItem {
  /// An item of what an app stores, or a load for a subclass of `URLCache`; nil when it can't be kept.
  ///
  /// - Parameter arrival: When the response came, in seconds since 1970, where only the app knows it; nil for `date`.
  init?(
    _ cached: CachedURLResponse, for request: URLRequest, key: CacheKey, at date: Date, arrival: Int64? = nil
  ) {
    let seconds = arrival ?? Int64(date.timeIntervalSince1970)
    var data = cached.data
    var head: StoredHead
    if let loaded = cached.loadedHead {
      head = loaded
    } else if let response = cached.response as? HTTPURLResponse {
      let fields = URLCache.selectingFields(of: request)
      head = StoredHead(
        head: Freshening.storedHead(response.head), url: key.url, requestTime: seconds, responseTime: seconds,
        // Vary: * fits no request of a load. The app finds the response all the same.
        selecting: SelectingFields(vary: response.head.fields, of: fields)
          ?? SelectingFields(names: ["*"], digest: [0]),
        credentialMark: StoredHead.mark(of: fields))
    } else {
      guard let archive = try? NSKeyedArchiver.archivedData(withRootObject: cached, requiringSecureCoding: true) else {
        return nil
      }
      data = archive
      head = StoredHead(
        head: HTTPResponseHead(status: 0), url: key.url, requestTime: seconds, responseTime: seconds,
        selecting: SelectingFields(names: [], digest: []))
    }
    head.url = key.url
    head.bodyLength = Int64(data.count)
    // An app has the body decoded.
    head.isDecoded = !ContentCodings(fields: head.head.fields).isIdentity
    self.init(head: head, body: .bytes(ByteBuffer(bytes: data)), stored: date)
    userInfo = cached.userInfo.map { AppDictionary($0) }
    policy = cached.storagePolicy
    object = cached
  }

  /// An item of what a subclass of `URLCache` gave out. Where an app has made the object, it came when its Date says, or
  /// else long ago, and is of the user of `request`: the subclass has chosen it for that request.
  init?(loaded cached: CachedURLResponse, for request: URLRequest, key: CacheKey) {
    let now = Date()
    let fields = (cached.response as? HTTPURLResponse)?.head.fields ?? HTTPFields()
    let date = CacheDate.value(of: "Date", in: fields, now: Int64(now.timeIntervalSince1970))
    self.init(cached, for: request, key: key, at: now, arrival: date ?? 0)
  }

  func isReplaced(by new: CacheItem, _ fields: HTTPFields) -> Bool { head.isReplaced(by: new.head, fields) }

  /// The item as the app sees it, its body decoded; nil when that can't be read.
  var response: CachedURLResponse? {
    if let object { return object }
    guard let bytes = whole else { return nil }
    guard isHTTP else {
      let archive = Data(bytes.readableBytesView)
      return try? NSKeyedUnarchiver.unarchivedObject(ofClass: CachedURLResponse.self, from: archive)
    }
    let codings = ContentCodings(fields: head.head.fields)
    guard let decoded = head.isDecoded ? bytes : BodyDecoding.decode(bytes, codings) else { return nil }
    return CachedURLResponse(
      response: HTTPURLResponse(url: URL(string: head.url), head: head.head), data: Data(decoded.readableBytesView),
      userInfo: userInfo, storagePolicy: policy, loadedHead: head)
  }

  /// The body in memory.
  private var whole: ByteBuffer? {
    switch body {
    case .bytes(let bytes): return bytes
    case .file(let file):
      var whole = ByteBufferAllocator().buffer(capacity: Int(file.length))
      while Int64(whole.readableBytes) < file.length {
        guard var piece = try? file.read(from: Int64(whole.readableBytes), to: file.length) else { return nil }
        whole.writeBuffer(&piece)
      }
      return whole
    }
  }
}

extension StoredHead {
  /// Whether a new response to a request with these fields takes the place of this one.
  func isReplaced(by new: StoredHead, _ fields: HTTPFields) -> Bool {
    selecting == new.selecting || selecting.match(fields)
  }
}
