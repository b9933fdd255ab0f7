/// Over the link with a delay and loss (Docs/Decisions/0260).
extension Goal {
  static let overLink = [
    Goal(name: "h3-link-100", measure: .ratio(to: .ours, atLeast: 1)),
    Goal(name: "h3-link-download", measure: .ratio(to: .ours, atLeast: 1.1)),
    Goal(name: "h3-link-upload", measure: .ratio(to: .ours, atLeast: 1.2)),
    // A round trip takes 50 ms: one with early data, two without. HTTP/2 needs three.
    Goal(name: "h3-link-first-byte early", measure: .ours(atMost: 75_000)),
    Goal(name: "h3-link-first-byte resumed", measure: .ours(atMost: 125_000)),
  ]
}
