/// Decides which copies of files run at a time. A value.
///
/// A file system that hangs keeps those that read from it, for ever. So there are few for each file system and for each app,
/// and what is behind them in the line and is of others passes them.
struct CopyLine<Job> {
  /// A copy counts against the limits of its place.
  struct Place: Hashable, Sendable {
    var app: String
    /// The number of the mount that the file is on; nil where it is not known.
    var mount: Int?
  }

  struct Limits: Sendable, Equatable {
    var ofMount = 2
    var ofApp = 4
    var all = 64
  }

  private struct Entry {
    let number: Int
    let place: Place
    let job: Job
  }

  let limits: Limits
  private var waiting: [Entry] = []
  private var lastNumber = 0
  /// How many at the beginning of `waiting` came first.
  private var firstCount = 0
  private var running: [Place: Int] = [:]

  init(limits: Limits = Limits()) { self.limits = limits }

  var runningCount: Int { running.values.reduce(0, +) }

  /// - Returns: the number by which it is taken out again.
  @discardableResult
  mutating func add(_ job: Job, at place: Place) -> Int {
    lastNumber += 1
    waiting.append(Entry(number: lastNumber, place: place, job: job))
    return lastNumber
  }

  /// In front of those that wait, and behind the ones that came first before it: a process waits for it.
  @discardableResult
  mutating func addFirst(_ job: Job, at place: Place) -> Int {
    lastNumber += 1
    waiting.insert(Entry(number: lastNumber, place: place, job: job), at: firstCount)
    firstCount += 1
    return lastNumber
  }

  /// Takes out one that still waits; nil where it does not.
  mutating func remove(_ number: Int) -> Job? {
    guard let index = waiting.firstIndex(where: { $0.number == number }) else { return nil }
    return takeOut(index).job
  }

  /// The first that may run now; it counts from now on.
  mutating func next() -> (place: Place, job: Job)? {
    guard let index = waiting.firstIndex(where: { mayRun($0.place) }) else { return nil }
    let next = takeOut(index)
    running[next.place, default: 0] += 1
    return (next.place, next.job)
  }

  private mutating func takeOut(_ index: Int) -> Entry {
    if index < firstCount { firstCount -= 1 }
    return waiting.remove(at: index)
  }

  mutating func ended(at place: Place) {
    let count = (running[place] ?? 0) - 1
    running[place] = count > 0 ? count : nil
  }

  private func mayRun(_ place: Place) -> Bool {
    let ofApp = running.reduce(0) { $1.key.app == place.app ? $0 + $1.value : $0 }
    return (running[place] ?? 0) < limits.ofMount && ofApp < limits.ofApp && runningCount < limits.all
  }
}
