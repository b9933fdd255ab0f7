/// The importance of a request, as a server is told (RFC 9218 §4).
package enum RequestUrgency {
  /// The value of the field Priority for a task's priority of 0…1; nil for 0.5, which is the protocol's default.
  ///
  /// RFC 9218 counts from 0, the most urgent, over 3, the default, to 7, which is left to work in the background.
  package static func field(priority: Float) -> String? {
    let urgency = urgency(priority)
    return urgency == 3 ? nil : "u=\(urgency)"
  }

  /// The message to a server that has the request already; nil when there is nothing new in it.
  package static func update(from old: Float, to new: Float) -> String? {
    let urgency = urgency(new)
    return urgency == self.urgency(old) ? nil : "u=\(urgency)"
  }

  /// The two parameters in a value of the field, by default 3 and false (RFC 9218 §4).
  package static func read(_ value: String) -> (urgency: Int, isIncremental: Bool) {
    var (urgency, isIncremental) = (3, false)
    for member in value.split(separator: ",") {
      let text = member.trimmingHTTPWhitespace()
      if text == "i" { isIncremental = true }
      if text.hasPrefix("u="), let number = Int(text.dropFirst(2)), (0...7).contains(number) { urgency = number }
    }
    return (urgency, isIncremental)
  }

  private static func urgency(_ priority: Float) -> Int {
    guard priority.isFinite else { return 3 }
    let distance = (min(max(priority, 0), 1) - 0.5) * 6
    return 3 - Int(distance.rounded(.toNearestOrAwayFromZero))
  }
}
