/// The transfers that may run as soon as there is room, in order: app by app, and within an app those of one session to
/// one host together.
struct WaitingLine {
  struct Lane: Hashable {
    let session: SessionID
    let host: String
    let isSlow: Bool
  }

  /// A place in the order of an app: the lower rank goes first, and of equal ones the older transfer.
  struct Place: Comparable {
    let rank: Int64
    let id: TransferID

    static func < (left: Place, right: Place) -> Bool {
      left.rank != right.rank ? left.rank < right.rank : left.id < right.id
    }
  }

  /// In reverse order, so that the next one is taken from the end.
  private var apps: [AppID: [Lane: [Place]]] = [:]

  var isEmpty: Bool { apps.isEmpty }
  var appIDs: Dictionary<AppID, [Lane: [Place]]>.Keys { apps.keys }

  /// The first ones of an app's lanes.
  func heads(of app: AppID) -> [(lane: Lane, place: Place)] {
    (apps[app] ?? [:]).compactMap { lane, places in places.last.map { (lane, $0) } }
  }

  mutating func insert(_ place: Place, of app: AppID, in lane: Lane) {
    var places = take(app, lane)
    places.insert(place, at: WaitingLine.index(of: place, in: places))
    apps[app, default: [:]][lane] = places
  }

  mutating func remove(_ place: Place, of app: AppID, in lane: Lane) {
    var places = take(app, lane)
    let index = WaitingLine.index(of: place, in: places)
    if places.indices.contains(index), places[index] == place { places.remove(at: index) }
    if !places.isEmpty { return apps[app, default: [:]][lane] = places }
    apps[app]?[lane] = nil
    if apps[app]?.isEmpty ?? false { apps[app] = nil }
  }

  /// Taken out, so that changing them copies none.
  private mutating func take(_ app: AppID, _ lane: Lane) -> [Place] {
    let places = apps[app]?[lane] ?? []
    if !places.isEmpty { apps[app]?[lane] = [] }
    return places
  }

  private static func index(of place: Place, in places: [Place]) -> Int {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle] > place { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
