import ArgumentParser

enum TransferNumbers {
  static let help = ArgumentHelp("Numbers of transfers, as `download` and `list` print them.", valueName: "id")
}
