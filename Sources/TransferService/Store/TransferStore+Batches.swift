import GRDB
import Synchronization

extension TransferStore {
  /// Makes changes in one transaction, without waiting for the disk. Where they can't be made together each is made alone, so
  /// that one that can't be made at all holds no other one up.
  ///
  /// - Parameters:
  ///   - change: is called before the transaction begins, with those that are made together.
  ///   - record: see `QueueDatabase.write`. Of those that are made together.
  ///   - ended: called once, with the result of each in order.
  func writeTogether<Element: Sendable, Value: Sendable>(
    _ elements: [Element], _ change: @escaping Change<Element, Value>,
    recording record: @escaping @Sendable ([Element]) -> RecordedChange? = { _ in nil },
    ended: @escaping @Sendable ([Result<Value, any Error>]) -> Void
  ) {
    write(elements, change, record) { [self] result in
      switch result {
      case .success(let values): ended(values.map { .success($0) })
      case .failure(let error) where elements.count == 1 || (error as? DatabaseError)?.isDamage == true:
        ended(elements.map { _ in .failure(error) })
      case .failure: writeEach(of: elements, change, record, ended)
      }
    }
  }

  typealias Change<Element, Value> = @Sendable ([Element]) throws -> @Sendable (Database) throws -> [Value]

  private func writeEach<Element: Sendable, Value: Sendable>(
    of elements: [Element], _ change: @escaping Change<Element, Value>,
    _ record: @escaping @Sendable ([Element]) -> RecordedChange?,
    _ ended: @escaping @Sendable ([Result<Value, any Error>]) -> Void
  ) {
    let results = Mutex<[Int: Result<Value, any Error>]>([:])
    for (index, element) in elements.enumerated() {
      write([element], change, record) { result in
        let all: [Int: Result<Value, any Error>]? = results.withLock { results in
          results[index] = result.map { $0[0] }
          return results.count == elements.count ? results : nil
        }
        if let all { ended(all.sorted { $0.key < $1.key }.map(\.value)) }
      }
    }
  }

  private func write<Element: Sendable, Value: Sendable>(
    _ elements: [Element], _ change: Change<Element, Value>, _ record: ([Element]) -> RecordedChange?,
    ended: @escaping @Sendable (Result<[Value], any Error>) -> Void
  ) {
    do { database.write(try change(elements), recording: record(elements), ended: ended) } catch {
      ended(.failure(error))
    }
  }
}
