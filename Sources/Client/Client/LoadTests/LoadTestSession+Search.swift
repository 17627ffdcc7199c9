import LoadModel
import LoadReport
import Model
import Rendering

/// Searches for the highest load that passes.
extension LoadTestSession {
    /// The steps of a search so far, and what remains of its caps.
    private struct Searching {
        var search: LoadSearch
        var ladder: LoadLadder
        /// Caps of the steps to come; nil if they are used up.
        var caps: LoadCaps?
        var failure: Failure?
        let stepSeconds: Double
        /// Seconds that are left of the duration of all steps.
        var secondsLeft: Double
    }

    /// - Parameters:
    ///   - stepSeconds: duration of each load.
    ///   - most: maximum load.
    ///   - seconds: maximum duration of all steps, with the pauses between them.
    func search(_ stepSeconds: Double, _ most: Double, _ seconds: Double) async throws -> Outcome {
        let isOpen = scenario.model != .closed
        let first = scenario.maxLevel
        var state = Searching(
            search: LoadSearch(
                first: first, most: max(most, first), isWhole: !isOpen,
                endsAtKnee: !isOpen && !scenario.thresholds.contains(where: \.limitsTime)),
            ladder: LoadLadder(kind: .search, unit: isOpen ? .arrivalsPerSecond : .users),
            caps: scenario.caps, stepSeconds: stepSeconds, secondsLeft: seconds)
        while let level = state.search.next, try await run(level, &state) {}
        var ladder = state.ladder
        ladder.highest = state.search.highest
        ladder.lowestBroken = state.search.lowestBroken
        switch state.search.end {
        case .knee(let knee): ladder.knee = knee
        case .machineBusy(let level): ladder.stop = (.machineBusy, level)
        case nil: break
        }
        let best = ladder.mainStep ?? ladder.steps.last
        return outcome(ladder, best?.result ?? LoadResult(), state.failure)
    }

    /// Runs one load and records it; returns false if no further one can run.
    private func run(_ level: Double, _ state: inout Searching) async throws -> Bool {
        guard let caps = state.caps else {
            state.ladder.cap = .requests
            return false
        }
        state.secondsLeft -= state.search.pauseSeconds + state.stepSeconds
        guard state.secondsLeft >= -1e-9 else {
            state.ladder.cap = .seconds
            return false
        }
        guard await hasPaused(state.search.pauseSeconds) else {
            state.ladder.stop = (.interrupted, level)
            return false
        }
        var one = scenario.held(at: level, seconds: state.stepSeconds)
        (one.caps.requests, one.caps.bytes) = (caps.requests, caps.bytes)
        let name = name(level, attempt: state.search.attempt)
        guard let result = try await take(one, nil, name, level, &state.ladder, &state.failure)
        else {
            let wasCancelled = state.failure?.code == .workerCancelled
            state.ladder.stop = (wasCancelled ? .interrupted : .failed, level)
            return false
        }
        guard result.ending != .interrupted else {
            state.ladder.stop = (.interrupted, level)
            return false
        }
        let limit = result.limit
        state.ladder.steps[state.ladder.steps.count - 1].limit = limit
        state.caps = caps.left(after: result)
        switch limit {
        case nil: state.search.record(.holds(perSecond: result.successesPerSecond))
        // A step that a cap ended neither passed nor failed.
        case .cap: state.caps = nil
        case .generator: state.search.record(.generator)
        case .machineBusy: state.search.record(.machineBusy)
        case .threshold, .fellBehind, .missedSends, .worker: state.search.record(.breaks)
        }
        return true
    }

    /// Waits until the machine may be quiet; returns false if the test was cancelled.
    private func hasPaused(_ seconds: Double) async -> Bool {
        guard seconds > 0 else { return true }
        do { try await pause(seconds) } catch { return false }
        return !Task.isCancelled
    }

    private func name(_ level: Double, attempt: Int) -> String {
        let figure = HumanFormat.fixed(level, places: level < 10 ? 1 : 0)
        let text = figure + (scenario.model == .closed ? " users" : "/s")
        return attempt == 1 ? text : "\(text), try \(attempt)"
    }
}

extension LoadResult {
    /// Successful requests per second of the load; nil without measured time.
    fileprivate var successesPerSecond: Double? {
        LoadFigure.requestRate.value(in: total, measuredSeconds: measuredSeconds)
    }
}
