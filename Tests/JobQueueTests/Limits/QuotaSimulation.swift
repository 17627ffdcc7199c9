import Model
import Statistics

@testable import JobQueue

/// Workers that share one limit, on a clock of milliseconds: what the coordinator records, and what each of them does
/// by its last acknowledged quota.
struct QuotaSimulation {
    /// What is limited, and of what. A site limits nothing but bandwidth.
    private enum Kind: UInt64, CaseIterable {
        case requests, connections, originBandwidth, siteBandwidth
    }

    private struct Row {
        var quota: Quota
        var endsAt: Int
    }

    private struct Worker {
        var id: Int
        /// Granted and not begun.
        var jobs = 0
        /// Ends of running transfers; not for a limited bandwidth.
        var running: [Int] = []
        /// Bytes left of the running transfer, for a limited bandwidth.
        var bytesLeft = 0.0
        /// When requests of the last seconds began.
        var starts: [Int] = []
        var number: Int64 = 0
        var granted = QuotaAmounts()
        var expiresAt = 0
        var beatsAt = 0
        var idleSince: Int?
        /// Answers on their way: when they arrive, and how long they hold.
        var answers: [(at: Int, quota: Quota, expiresAt: Int, again: Int)] = []
        var claimsAt = 0
        var isRefused = false
        /// Reported running transfers, if more than the last grant.
        var reported: Int64?
        /// Until it asks again.
        var patience = 0

        func requests(since time: Int) -> Int { starts.count { $0 > time } }
        var isIdle: Bool { jobs == 0 && running.isEmpty && bytesLeft <= 0 }
    }

    private static let leaseMilliseconds = 3_000
    /// What a worker's bucket lets through of a rate, so that no second has more.
    private static let bandwidthKept = 0.95
    /// What a row counts longer than it lasts.
    private static let guardMilliseconds = 1_100

    private var random: SeededRandom
    private var now = 0
    private var limit: QuotaAmounts
    private let kind: Kind
    private var rows: [Int: Row] = [:]
    private var workers: [Worker]
    private var nextWorker: Int
    private var nextNumber: Int64 = 1
    private var queued = 100_000
    /// Jobs that come back when the leases of the dead are over.
    private var lost: [(at: Int, jobs: Int)] = []
    private var eventAt: Int
    private var changedAt = 0
    private var comesBackAt = 0
    /// When the site's schedule opens; until then nothing is claimed, and quotas stay as they are.
    private var opensAt = 0
    /// What is held may be above a limit that was lowered, and only falls then.
    private var heldBefore: Int64 = 0
    private var windowStart = 0
    private var windowUse = 0.0
    private var isWindowWhole = true

    private(set) var violations: [String] = []
    private(set) var windows = 0
    private(set) var worstUse = 1.0
    private(set) var story = ""

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        kind = Kind.allCases[Int(seed % UInt64(Kind.allCases.count))]
        let count = Int.random(in: 1...12, using: &random)
        workers = (0..<count).map { Worker(id: $0) }
        nextWorker = count
        limit = QuotaAmounts()
        eventAt = 0
        setLimit()
        eventAt = Int.random(in: 2_500...5_000, using: &random)
    }

    private mutating func setLimit() {
        let amount = Int64.random(in: 2...40, using: &random)
        limit = amounts(isOfBandwidth ? amount * 5_000 : amount)
    }

    private var isOfBandwidth: Bool { kind == .originBandwidth || kind == .siteBandwidth }

    private func amounts(_ amount: Int64) -> QuotaAmounts {
        switch kind {
        case .requests: QuotaAmounts(requests: amount)
        case .connections: QuotaAmounts(connections: amount)
        case .originBandwidth, .siteBandwidth: QuotaAmounts(bytes: amount)
        }
    }

    private func amount(_ amounts: QuotaAmounts) -> Int64 {
        switch kind {
        case .requests: amounts.requests ?? 0
        case .connections: amounts.connections ?? 0
        case .originBandwidth, .siteBandwidth: amounts.bytes ?? 0
        }
    }

    /// What a worker uses of its quota. It reports none of a bandwidth: a lower rate holds from the next byte on.
    private func used(by worker: Worker) -> Int64 {
        switch kind {
        case .requests: Int64(worker.starts.count)
        case .connections: Int64(worker.running.count)
        case .originBandwidth, .siteBandwidth: 0
        }
    }

    /// What a worker may use by what it knows.
    private func allowance(of worker: Worker) -> Int64 {
        worker.expiresAt > now ? amount(worker.granted) : 0
    }

    mutating func run(milliseconds: Int) {
        while now < milliseconds {
            if now >= eventAt { change() }
            if now == comesBackAt { changedAt = max(changedAt, now) }
            for jobs in lost where jobs.at == now { queued += jobs.jobs }
            for index in workers.indices { act(index) }
            check()
            now += 1
        }
    }

    // MARK: What happens

    private mutating func change() {
        changedAt = now
        eventAt = now + Int.random(in: 2_500...6_000, using: &random)
        switch Int.random(in: 0..<(kind == .siteBandwidth ? 5 : 4), using: &random) {
        case 0 where workers.count > 1:
            let dead = workers.remove(at: Int.random(in: workers.indices, using: &random))
            lost.append((now + Self.leaseMilliseconds, dead.jobs + dead.running.count))
            // Until it expires, its quota is unavailable to others.
            changedAt = now + Self.leaseMilliseconds + Self.guardMilliseconds
            eventAt = max(eventAt, changedAt + 2_500)
            story += " death at \(now)"
        case 1:
            let count = Int.random(in: 1...4, using: &random)
            workers += (0..<count).map { Worker(id: nextWorker + $0) }
            nextWorker += count
            story += " \(count) come at \(now)"
        case 2:
            setLimit()
            story += " limit \(amount(limit)) at \(now)"
        case 4:
            opensAt = now + Int.random(in: 500...5_000, using: &random)
            changedAt = opensAt
            eventAt = max(eventAt, opensAt + 2_500)
            story += " closed from \(now) to \(opensAt)"
        default:
            // One has done what it had.
            let index = Int.random(in: workers.indices, using: &random)
            workers[index].jobs = 0
            workers[index].claimsAt = now + 2_500
            if workers.count == 1 { changedAt += 2_500 }
            comesBackAt = now + 2_500
            eventAt = max(eventAt, now + 4_000)
            story += " rest at \(now)"
        }
    }

    private mutating func act(_ index: Int) {
        var worker = workers[index]
        for answer in worker.answers where answer.at <= now && answer.quota.number > worker.number {
            let isSame = answer.quota.granted == worker.granted
            let patience = isSame ? min(worker.patience * 3 / 2, 250) : 0
            worker.patience = max(answer.again, patience)
            worker.beatsAt = now + worker.patience
            worker.number = answer.quota.number
            worker.granted = answer.quota.granted
            worker.expiresAt = answer.expiresAt
        }
        worker.answers.removeAll { $0.at <= now }
        worker.running.removeAll { $0 <= now }
        worker.starts.removeAll { $0 <= now - 1_020 }
        let mine = allowance(of: worker)
        transfer(&worker, mine)
        let wanted = isOfBandwidth ? 8 : max(Int(mine), 8)
        if worker.jobs < wanted, now >= worker.claimsAt, queued > 0, now >= opensAt {
            claim(&worker)
        }
        let used = used(by: worker)
        let isUnsettled = worker.reported.map { used < $0 } ?? (used > mine)
        if worker.number > 0, now % 50 == worker.id % 50,
            now >= worker.beatsAt || isOver(&worker) || isUnsettled
        {
            worker.reported = used > mine ? used : nil
            beat(&worker)
        }
        workers[index] = worker
    }

    /// Begins what a worker may begin, and receives what a bandwidth allows in a millisecond.
    private mutating func transfer(_ worker: inout Worker, _ mine: Int64) {
        guard !isOfBandwidth else {
            if worker.bytesLeft <= 0, worker.jobs > 0, mine > 0 {
                worker.jobs -= 1
                worker.bytesLeft = Double.random(in: 500...5_000, using: &random)
            }
            if worker.bytesLeft > 0 {
                let received = Double(mine) * Self.bandwidthKept / 1_000
                worker.bytesLeft -= received
                windowUse += received
            }
            return
        }
        while worker.jobs > 0, used(by: worker) < mine, worker.running.count < 64 {
            worker.jobs -= 1
            worker.starts.append(now)
            worker.running.append(now + Int.random(in: 10...200, using: &random))
        }
    }

    private func isOver(_ worker: inout Worker) -> Bool {
        guard worker.isIdle, worker.granted != QuotaAmounts() else {
            worker.idleSince = nil
            return false
        }
        worker.idleSince = worker.idleSince ?? now
        return now - (worker.idleSince ?? now) >= 200
    }

    private mutating func claim(_ worker: inout Worker) {
        worker.claimsAt = now + 20
        worker.isRefused = false
        let isUser = rows[worker.id].map { $0.endsAt > now } ?? false
        let users = rows.values.count { $0.endsAt > now }
        if !isUser, users >= limit.maxUsers ?? .max {
            worker.claimsAt = now + 1_000
            worker.isRefused = true
            return
        }
        let cap =
            switch kind {
            case .requests: 2 * amount(limit) / Int64(users + 1) + 4
            case .connections: 8 * amount(limit) / Int64(users + 1) + 4
            case .originBandwidth, .siteBandwidth: Int64(40)
            }
        let jobs = min(queued, max(Int(cap) - worker.jobs, 0), 40)
        guard jobs > 0 else { return }
        queued -= jobs
        worker.jobs += jobs
        decide(&worker, isHeld: true, use: nil, isHeard: true)
    }

    private mutating func beat(_ worker: inout Worker) {
        worker.beatsAt = now + 1_000
        let over = isOver(&worker)
        if over { worker.granted = QuotaAmounts() }
        let use = Quota.Use(
            number: worker.number, used: amounts(used(by: worker)), isOver: over)
        let isHeard = Int.random(in: 0..<20, using: &random) > 0
        decide(&worker, isHeld: !worker.isIdle, use: use, isHeard: isHeard)
    }

    private mutating func decide(
        _ worker: inout Worker, isHeld: Bool, use: Quota.Use?, isHeard: Bool
    ) {
        nextNumber += 1
        let counting = rows.filter { $0.value.endsAt > now - Self.guardMilliseconds }
        let others = counting.filter { $0.key != worker.id }
        let users = others.filter { $0.value.endsAt > now }
        let held = others.values.reduce(Int64(0)) { $0 + amount($1.quota.held) }
        let pool = Quota.Pool(
            limit: limit, users: Int64(users.count) + 1,
            index: Int64(users.keys.count { $0 < worker.id }),
            heldByOthers: amounts(held))
        var request = Quota.Request(
            counting[worker.id]?.quota, of: pool, isHeld: isHeld, isBusy: true, use: use,
            number: nextNumber)
        request.isFrozen = now < opensAt
        switch Quota.decide(request) {
        case .nothing, .lift: break
        case .drop:
            rows[worker.id] = nil
            wake()
        case .end(let quota):
            rows[worker.id] = Row(quota: quota, endsAt: now)
            wake()
        case .grant(let quota):
            let end = now + Self.leaseMilliseconds
            rows[worker.id] = Row(quota: quota, endsAt: end)
            guard isHeard else {
                worker.beatsAt = now + 100
                return
            }
            let at = now + Int.random(in: 1...20, using: &random)
            let again = Int(quota.askAgainSeconds(in: pool) * 1_000)
            worker.answers.append((at, quota, end - 250, again))
        }
    }

    /// Those that found no place ask again.
    private mutating func wake() {
        for index in workers.indices where workers[index].isRefused {
            workers[index].claimsAt = now
        }
    }

    // MARK: What is seen

    private mutating func check() {
        let held = rows.values.filter { $0.endsAt > now - Self.guardMilliseconds }
            .reduce(Int64(0)) { $0 + amount($1.quota.held) }
        if held > max(amount(limit), heldBefore) {
            violations.append("\(held) held of \(amount(limit)) at \(now):\(story)")
        }
        heldBefore = held
        let used =
            switch kind {
            case .requests: workers.reduce(0) { $0 + Int64($1.requests(since: now - 1_000)) }
            case .connections: workers.reduce(0) { $0 + Int64($1.running.count) }
            case .originBandwidth, .siteBandwidth:
                workers.reduce(0) { $0 + ($1.bytesLeft > 0 ? allowance(of: $1) : 0) }
            }
        if used > held { violations.append("\(used) used of \(held) at \(now):\(story)") }
        isWindowWhole = isWindowWhole && now > changedAt + 1_000 && queued > 0
        switch kind {
        case .requests:
            windowUse += Double(workers.reduce(0) { $0 + $1.starts.count { $0 == now } })
        case .connections: windowUse += Double(used) / 1_000
        // Counted as it is received.
        case .originBandwidth, .siteBandwidth: break
        }
        guard now - windowStart >= 1_020 || !isWindowWhole else { return }
        if isWindowWhole {
            windows += 1
            let most =
                Double(amount(limit))
                * (kind == .requests ? 1 : Double(now - windowStart + 1) / 1_000)
            let use = windowUse / most
            if use < worstUse {
                worstUse = use
                story += " [\(use) of \(amount(limit)) with \(workers.count) at \(now)]"
            }
        }
        (windowStart, windowUse, isWindowWhole) = (now + 1, 0, true)
    }
}
