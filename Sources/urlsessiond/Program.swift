import Dispatch
import Foundation

/// The transfer service, or its supervisor.
@main
enum Program {
  static func main() {
    GlobalJobs.runOnOwnQueues()
    Task {
      await ServiceCommand.main()
      exit(EXIT_SUCCESS)
    }
    dispatchMain()
  }
}
