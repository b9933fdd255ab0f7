/// The facts that the kernel and NetworkManager state about an interface, and what follows from them.
package struct NetworkFacts: Sendable, Equatable {
  /// The kernel's type of the device (`DEVTYPE`): `wlan`, `wwan`, `wireguard`… nil for plain ones.
  package var deviceType: String?
  /// Whether the interface packs what it gets and sends it over another one.
  package var isTunnel = false
  /// The statement of NetworkManager; nil where it does not run, or does not know the interface.
  package var managed: Managed?
  /// The network beneath all tunnels, by NetworkManager.
  package var primary: Primary?

  package init() {}

  package struct Managed: Sendable, Equatable {
    /// `NMDeviceType`.
    package var type: UInt32
    package var metered: Metered

    package init(type: UInt32, metered: Metered) {
      self.type = type
      self.metered = metered
    }
  }

  package struct Primary: Sendable, Equatable {
    /// The type of the connection: `gsm`, `802-11-wireless`…
    package var type: String
    package var metered: Metered

    package init(type: String, metered: Metered) {
      self.type = type
      self.metered = metered
    }
  }

  /// `NMMetered`: who says that the network costs, and what.
  package enum Metered: UInt32, Sendable {
    case unknown = 0, yes, no, guessYes, guessNo
  }

  /// The rule of `Docs/Decisions/0038-cellular-expensive-and-constrained-networks.md`.
  package var traits: NetworkTraits {
    var traits: NetworkTraits = []
    let metered: Metered
    if isTunnel || managed?.isTunnel == true {
      // Whatever a tunnel says of itself, its bytes are paid for below it. What the user says counts all the same.
      let own = managed?.metered ?? .unknown
      metered = own == .yes || own == .no ? own : primary?.metered ?? own
      if primary?.isCellular == true { traits.insert(.cellular) }
    } else {
      metered = managed?.metered ?? .unknown
      if deviceType == "wwan" || managed?.isModem == true { traits.insert(.cellular) }
    }
    switch metered {
    case .yes: traits.formUnion([.expensive, .constrained])
    case .guessYes: traits.insert(.expensive)
    case .unknown: if traits.contains(.cellular) { traits.insert(.expensive) }
    case .no, .guessNo: break
    }
    return traits
  }
}

extension NetworkFacts.Managed {
  /// NM_DEVICE_TYPE_MODEM.
  fileprivate var isModem: Bool { type == 8 }

  /// NM_DEVICE_TYPE_TUN, _IP_TUNNEL, _WIREGUARD.
  package var isTunnel: Bool { [16, 17, 29].contains(type) }
}

extension NetworkFacts.Primary {
  fileprivate var isCellular: Bool { type == "gsm" || type == "cdma" }
}
