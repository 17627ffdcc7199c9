import Model
import Synchronization

/// Runs calls together: those of one key that come while a group of it is under way wait, and go as one
/// group when it is back, or beside it as soon as they are many.
///
/// A call never waits for others to come: alone it goes at once. What a group costs besides its
/// members (a round trip, a transaction, a commit that waits for the disk) is shared by all of them,
/// so that more callers make larger groups, not more transactions. Safe from any task. The caller whose
/// turn it is runs the group in its own task; a caller is not freed by cancellation.
final class GroupedCalls<Key: Hashable & Sendable, Call: Sendable, Answer: Sendable>: Sendable {
    private struct Waiter {
        let call: Call
        let weight: Int
        let continuation: CheckedContinuation<Turn, Never>
    }

    private enum Turn {
        /// To run the group, the first of which is one's own.
        case lead([Waiter])
        case answer(Result<Answer, Failure>)
    }

    private struct Line {
        var underWay = 0
        var waiting: [Waiter] = []
    }

    private let width: Int
    private let maxWeight: Int
    private let lines = Mutex<[Key: Line]>([:])

    /// - Parameters:
    ///   - width: groups of one key under way at a time, at least 1. A further one begins when a
    ///     fifth of `maxWeight` waits.
    ///   - maxWeight: of a group of more than one call, all weights together.
    init(width: Int, maxWeight: Int) {
        precondition(width > 0 && maxWeight > 0)
        self.width = width
        self.maxWeight = maxWeight
    }

    /// Calls that wait for a place, and groups under way.
    var waitingCount: Int { lines.withLock { $0.values.reduce(0) { $0 + $1.waiting.count } } }
    var underWayCount: Int { lines.withLock { $0.values.reduce(0) { $0 + $1.underWay } } }

    /// The answer to `call`, out of those that `run` gives to a group: one a call, in order. What `run`
    /// throws is thrown to every member of the group.
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

    /// Takes the calls that go next out of a line, when it is their turn; counts the group.
    private func nextGroup(of line: inout Line?) -> [Waiter]? {
        guard let waiting = line?.waiting, !waiting.isEmpty, let underWay = line?.underWay,
            underWay < width
        else { return nil }
        if underWay > 0, waiting.reduce(0, { $0 + $1.weight }) < maxWeight / 5 { return nil }
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

/// The least that a member of a group of claims or reports weighs, so that a group has twenty at most.
let minGroupedWeight = 100

/// What `run` answers to all calls together, or, when one of them may be to blame that they fail,
/// to each alone.
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
