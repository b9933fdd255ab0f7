/// The MD4 message digest (RFC 1320), which NTLM makes of passwords. It protects nothing by itself: the library that has
/// the other hash functions left it out.
package enum MD4 {
  /// The 16 bytes of the digest.
  package static func digest(_ message: [UInt8]) -> [UInt8] {
    // RFC 1320 §3.1, §3.2: a one bit, zeros, and the length in bits.
    var padded: [UInt8] = []
    padded.reserveCapacity(message.count + 80)
    // The message is a password.
    defer { padded.overwrite() }
    padded += message
    padded.append(0x80)
    padded += Array(repeating: 0, count: (120 - padded.count % 64) % 64)
    padded.append(littleEndian: UInt64(message.count) &* 8)

    var state: (a: UInt32, b: UInt32, c: UInt32, d: UInt32) = (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476)
    for start in stride(from: 0, to: padded.count, by: 64) {
      let before = state
      for round in rounds {
        for (step, word) in round.order.enumerated() {
          // Read where it is: a copy of the words would be one of the password.
          let input = padded.littleEndian32(at: start + 4 * word) ?? 0
          let sum = state.a &+ round.mix(state.b, state.c, state.d) &+ input &+ round.constant
          let shift = round.shifts[step % 4]
          state = (state.d, sum &<< shift | sum &>> (32 - shift), state.b, state.c)
        }
      }
      state = (state.a &+ before.a, state.b &+ before.b, state.c &+ before.c, state.d &+ before.d)
    }
    var digest: [UInt8] = []
    for word in [state.a, state.b, state.c, state.d] { digest.append(littleEndian: word) }
    return digest
  }

  private struct Round: Sendable {
    let mix: @Sendable (UInt32, UInt32, UInt32) -> UInt32
    let constant: UInt32
    let shifts: [UInt32]
    /// Which word of the block each of the 16 steps takes.
    let order: [Int]
  }

  /// RFC 1320 §3.4.
  private static let rounds = [
    Round(mix: { $0 & $1 | ~$0 & $2 }, constant: 0, shifts: [3, 7, 11, 19], order: Array(0..<16)),
    Round(
      mix: { $0 & $1 | $0 & $2 | $1 & $2 }, constant: 0x5a82_7999, shifts: [3, 5, 9, 13],
      order: [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]),
    Round(
      mix: { $0 ^ $1 ^ $2 }, constant: 0x6ed9_eba1, shifts: [3, 9, 11, 15],
      order: [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]),
  ]
}
