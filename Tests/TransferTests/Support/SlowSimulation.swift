import Model

@testable import Transfer

/// An engine's loops without a network: a scheduler, transfers with scripted durations, and a clock
/// that moves by small steps.
final class SlowSimulation {
    /// What becomes of a transfer's request.
    enum Behaviour {
        /// All of its bytes come after so many seconds.
        case prompt(seconds: Double)
        /// So many bytes come, so many a second, and can be kept where it is stopped or not.
        case drip(bytesPerSecond: Double, bytes: Double, isResumable: Bool)
        /// No answer comes; after so many seconds it has failed.
        case silent(seconds: Double)
    }

    private struct Running {
        var waiting: Waiting
        var startedAt: Double
        var receivedBefore: Double
        var judgedAt: Double
        /// When it last received, and when it is to receive or end next.
        var advancedAt: Double
        var dueAt: Double
        var received = 0.0
        var bytesJudged = 0.0
        var slowSeconds = 0.0
    }

    private struct Loop {
        let capacity: Int
        var running: [UInt64: Running] = [:]
    }

    static let promptBytes = 65_536
    /// Time between two arrivals of a drip's bytes.
    private static let dripSeconds = 0.1

    let scheduler: OriginScheduler
    private(set) var now = 1.0
    private var loops: [Loop]
    private let policy: SlowPolicy?
    private let stepSeconds: Double
    private var behaviours: [UInt64: Behaviour] = [:]
    private var kept: [UInt64: Double] = [:]
    private var tickAt = Double.infinity
    private var judgedAt = 1.0
    private var nextID: UInt64 = 1
    /// By origin: transfers that have ended well, and bytes that have come.
    private(set) var ended: [String: Int] = [:]
    private(set) var bytes: [String: Double] = [:]
    /// By transfer: how often it was stopped with bytes that could not be kept.
    private(set) var losses: [UInt64: Int] = [:]
    private(set) var stops = 0
    /// Transfers that were given back.
    private(set) var returned = 0

    init(
        connections: Int = 32, loops: Int = 2, policy: SlowPolicy? = SlowPolicy(),
        stepSeconds: Double = 0.01
    ) {
        self.policy = policy
        self.stepSeconds = stepSeconds
        scheduler = OriginScheduler(loops: loops, connections: connections, slow: policy)
        self.loops = (0..<loops).map {
            Loop(
                capacity: OriginScheduler.capacity(of: $0, loops: loops, connections: connections))
        }
    }

    var active: Int { loops.reduce(0) { $0 + $1.running.count } }

    func active(at origin: String) -> Int {
        loops.reduce(0) { sum, loop in
            sum + loop.running.values.count { $0.waiting.origin.name == origin }
        }
    }

    func waiting(at origin: String) -> Int {
        scheduler.origin(ofURL: origin + "/", now: now).lines.pending
    }

    var slowWork: SlowWork { scheduler.slowWork(most: 10, now: now) }

    /// How many transfers an origin may have, and why.
    func decision(at origin: String) -> String {
        let origin = scheduler.origin(ofURL: origin + "/", now: now)
        return
            "\(origin.speed.concurrency.concurrency) at a time: \(origin.speed.concurrency.last.reason)"
    }

    func submit(_ origin: String, _ scripted: [Behaviour]) {
        queue(origin, scripted)
        for loop in loops.indices { fill(loop) }
    }

    /// Submits transfers that no loop has looked at yet.
    func queue(_ origin: String, _ scripted: [Behaviour]) {
        let transfers = scripted.map { behaviour in
            defer { nextID += 1 }
            behaviours[nextID] = behaviour
            return Transfer(
                id: nextID,
                request: TransferRequest(
                    url: "\(origin)/\(nextID)", group: "g", destination: .memory, role: .data)
            ) { _, _ in }
        }
        _ = scheduler.submit(transfers, now: now)
    }

    /// Lets so many seconds pass; `each` is called before each step.
    func run(_ seconds: Double, _ each: () -> Void = {}) {
        let end = now + seconds
        while now < end {
            each()
            step()
        }
    }

    private func step() {
        now += stepSeconds
        for loop in loops.indices {
            var due: [UInt64] = []
            for (id, running) in loops[loop].running where running.dueAt <= now { due.append(id) }
            for id in due.sorted() { advance(id, on: loop) }
        }
        if now - judgedAt >= 0.5 {
            judgedAt = now
            for loop in loops.indices { judge(loop) }
        }
        if now >= tickAt {
            tickAt = .infinity
            perform(scheduler.tick(now: now))
        }
    }

    private func advance(_ id: UInt64, on loop: Int) {
        guard var running = loops[loop].running[id], running.dueAt <= now,
            let behaviour = behaviours[id]
        else { return }
        let seconds = now - running.startedAt
        let origin = running.waiting.origin
        switch behaviour {
        case .prompt:
            origin.add(receivedBytes: Self.promptBytes)
            end(id, on: loop, .ended(seconds: seconds), .prompt(seconds: min(seconds, 1.5)))
        case .drip(let rate, let needed, _):
            let more = rate * (now - running.advancedAt)
            running.received += more
            running.advancedAt = now
            running.dueAt = now + Self.dripSeconds
            loops[loop].running[id] = running
            origin.add(receivedBytes: Int(more))
            bytes[origin.name, default: 0] += more
            guard running.receivedBefore + running.received >= needed else { return }
            let isSlow = seconds > 1 && running.received < 16_384 * seconds
            end(
                id, on: loop, .ended(seconds: seconds),
                isSlow ? .slow(seconds: min(seconds, 1.5)) : .prompt(seconds: min(seconds, 1.5)))
        case .silent:
            end(id, on: loop, .overload(.timeout, startedAt: running.startedAt), .unknown)
        }
    }

    private func end(
        _ id: UInt64, on loop: Int, _ ending: OriginScheduler.Ending, _ pace: TransferPace
    ) {
        guard let running = loops[loop].running.removeValue(forKey: id) else { return }
        if case .ended = ending { ended[running.waiting.origin.name, default: 0] += 1 }
        var release = OriginScheduler.Release(
            origin: running.waiting.origin, transfer: id, ending: ending)
        release.pace = pace
        fill(loop, releasing: release)
    }

    private func judge(_ loop: Int) {
        guard let policy else { return }
        var judgements: [Judgement] = []
        for (id, running) in loops[loop].running
        where now - running.judgedAt >= policy.judgingSeconds {
            let seconds = now - running.judgedAt
            let received = running.received - running.bytesJudged
            let isSlow = received < policy.floorBytesPerSecond * seconds
            loops[loop].running[id]?.judgedAt = now
            loops[loop].running[id]?.bytesJudged = running.received
            let slowSeconds = running.slowSeconds + (isSlow ? seconds : 0)
            loops[loop].running[id]?.slowSeconds = slowSeconds
            judgements.append(
                Judgement(
                    transfer: id, origins: [running.waiting.origin],
                    pace: isSlow ? .slow(seconds: seconds) : .prompt(seconds: seconds),
                    bytesAtRisk: isResumable(id) ? 0 : Int64(running.received),
                    mayStop: running.waiting.route?.mayStop ?? true || isResumable(id),
                    losses: running.waiting.route?.losses ?? 0, slowSeconds: slowSeconds))
        }
        if !judgements.isEmpty { perform(scheduler.judge(judgements, on: loop, now: now)) }
    }

    /// Time from a transfer's start until it receives or ends.
    private func firstSeconds(of id: UInt64) -> Double {
        switch behaviours[id] {
        case .prompt(let seconds), .silent(let seconds): seconds
        case .drip, nil: Self.dripSeconds
        }
    }

    private func isResumable(_ id: UInt64) -> Bool {
        if case .drip(_, _, true) = behaviours[id] { true } else { false }
    }

    private func stop(_ id: UInt64, on loop: Int) {
        guard let running = loops[loop].running.removeValue(forKey: id) else { return }
        stops += 1
        let isKept = isResumable(id) && running.received > 0
        kept[id] = isKept ? running.receivedBefore + running.received : 0
        if !isKept { losses[id, default: 0] += 1 }
        var waiting = running.waiting
        waiting.route = Route(
            url: waiting.transfer.request.url, redirects: 0, isAtOrigin: true,
            startedAt: running.startedAt, stoppedAt: now,
            losses: isKept ? 0 : (running.waiting.route?.losses ?? 0) + 1)
        let release = OriginScheduler.Release(
            origin: waiting.origin, transfer: id, ending: .silent)
        perform(scheduler.stop(waiting, from: release, on: loop, now: now).effects)
        fill(loop)
    }

    private func fill(_ loop: Int, releasing release: OriginScheduler.Release? = nil) {
        var release = release
        var isMore = true
        while isMore {
            let free = loops[loop].capacity - loops[loop].running.count
            let batch = scheduler.take(free, on: loop, releasing: release, now: now)
            release = nil
            for waiting in batch.starts {
                loops[loop].running[waiting.transfer.id] = Running(
                    waiting: waiting, startedAt: now,
                    receivedBefore: kept[waiting.transfer.id] ?? 0, judgedAt: now,
                    advancedAt: now, dueAt: now + firstSeconds(of: waiting.transfer.id))
            }
            isMore = batch.isMore && !batch.starts.isEmpty
            perform(batch.effects, but: loop)
        }
    }

    private func perform(_ effects: OriginScheduler.Effects, but own: Int? = nil) {
        if let time = effects.tickAt { tickAt = min(tickAt, time) }
        returned += effects.returned.count
        for loop in effects.settle {
            for id in scheduler.takeStops(on: loop) { stop(id, on: loop) }
        }
        for loop in effects.wake
        where loop != own && loops[loop].capacity > loops[loop].running.count {
            fill(loop)
        }
    }
}
