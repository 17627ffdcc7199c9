import Model
import Synchronization

/// Groups calls: calls with the key of a running group wait, and run as one group after it, or
/// beside it once they are many.
///
/// A call never waits for others to arrive: alone it runs at once. All members share the other
/// costs of a group (a round trip, a transaction, a commit that waits for the disk), so that more
/// callers make larger groups, not more transactions. Safe from any task. The caller at the head
/// runs the group in its own task; cancellation does not free a caller.
final class GroupedCalls<Key: Hashable & Sendable, Call: Sendable, Answer: Sendable>: Sendable {
    private struct Waiter {
        let call: Call
        let weight: Int
        let continuation: CheckedContinuation<Turn, Never>
    }

    private enum Turn {
        /// The caller runs the group, whose first member is its own call.
        case lead([Waiter])
        case answer(Result<Answer, Failure>)
    }

    private struct Line {
        var underWay = 0
        var waiting: [Waiter] = []
    }

    private let width: Int
    private let maxWeight: Int
    private let besideWeight: Int
    private let lines = Mutex<[Key: Line]>([:])

    /// - Parameters:
    ///   - width: maximum number of running groups per key, at least 1.
    ///   - maxWeight: maximum total weight of a group of more than one call.
    ///   - besideWeight: total weight of waiting calls at which a further group begins.
    init(width: Int, maxWeight: Int, besideWeight: Int) {
        precondition(width > 0 && maxWeight > 0)
        self.width = width
        self.maxWeight = maxWeight
        self.besideWeight = besideWeight
    }

    /// Number of waiting calls.
    var waitingCount: Int { lines.withLock { $0.values.reduce(0) { $0 + $1.waiting.count } } }
    var underWayCount: Int { lines.withLock { $0.values.reduce(0) { $0 + $1.underWay } } }

    /// Returns the answer to `call`: `run` returns one answer per member of its group, in order. An
    /// error of `run` is thrown to every member.
    func answer(
        to call: Call, of key: Key, weight: Int,
        run: @Sendable ([Call]) async throws(Failure) -> [Answer]
    ) async throws(Failure) -> Answer {
        let turn = await withCheckedContinuation { continuation in
            let waiter = Waiter(call: call, weight: weight, continuation: continuation)
            let group = lines.withLock { lines in
                lines[key, default: Line()].waiting.append(waiter)
                return nextGroup(of: &lines[key])
            }
            group?.first?.continuation.resume(returning: .lead(group ?? []))
        }
        switch turn {
        case .answer(let answer): return try answer.get()
        case .lead(let group): return try await lead(group, of: key, run)
        }
    }

    private func lead(
        _ group: [Waiter], of key: Key,
        _ run: @Sendable ([Call]) async throws(Failure) -> [Answer]
    ) async throws(Failure) -> Answer {
        let answers: Result<[Answer], Failure>
        do throws(Failure) {
            let given = try await run(group.map(\.call))
            precondition(given.count == group.count, "an answer a call")
            answers = .success(given)
        } catch {
            answers = .failure(error)
        }
        let next = lines.withLock { lines in
            lines[key]?.underWay -= 1
            defer { if lines[key]?.underWay == 0 { lines[key] = nil } }
            return nextGroup(of: &lines[key])
        }
        next?.first?.continuation.resume(returning: .lead(next ?? []))
        for (index, waiter) in group.enumerated().dropFirst() {
            waiter.continuation.resume(returning: .answer(answers.map { $0[index] }))
        }
        return try answers.get()[0]
    }

    /// Removes and returns the calls of the next group if it may run, and counts the group.
    private func nextGroup(of line: inout Line?) -> [Waiter]? {
        guard let waiting = line?.waiting, !waiting.isEmpty, let underWay = line?.underWay,
            underWay < width
        else { return nil }
        if underWay > 0, waiting.reduce(0, { $0 + $1.weight }) < besideWeight { return nil }
        var weight = 0
        var count = 0
        for waiter in waiting {
            weight += waiter.weight
            guard count == 0 || weight <= maxWeight else { break }
            count += 1
        }
        line?.waiting.removeFirst(count)
        line?.underWay += 1
        return Array(waiting.prefix(count))
    }
}

/// Minimum weight of a member of a group of claims or reports: a group has at most twenty.
let minGroupedWeight = 100

/// Returns the answers of `run` to all calls together; after a failure that one of them may have
/// caused, to each one separately.
func retryIndividually<Call, Answer>(
    _ calls: [Call], _ run: ([Call]) async throws(Failure) -> [Answer]
) async -> [Result<Answer, Failure>] {
    do throws(Failure) {
        return try await run(calls).map { .success($0) }
    } catch {
        guard calls.count > 1, error.code == .workerInternal else {
            return calls.map { _ in .failure(error) }
        }
    }
    var answers: [Result<Answer, Failure>] = []
    for call in calls {
        do throws(Failure) {
            answers += try await run([call]).map { .success($0) }
        } catch {
            answers.append(.failure(error))
        }
    }
    return answers
}
