import API
import Model

/// A whole history: made up from a seed, or given; then all faults heal and the work is done.
enum History {
    /// The failure of a history.
    struct Failed: Error, CustomStringConvertible {
        var seed: UInt64?
        /// All that ran, the last of which failed.
        var events: [Event]
        /// How many of them come before the end that every history has.
        var madeCount: Int
        /// Of what kind it is: what is shortened must fail in the same way.
        var kind: String
        var findings: [String]

        var made: [Event] { Array(events.prefix(madeCount)) }

        var description: String {
            let shown = seed == nil ? events[...] : events.suffix(12)
            let first = events.count - shown.count
            let steps = shown.enumerated().map { "  \(first + $0 + 1). \($1)" }
            let from = seed.map { "DRAY_SEED=\($0)" } ?? "the shortened history"
            return
                (["\(from) fails after \(events.count) events:"] + steps
                + findings.map { "  → \($0)" }).joined(separator: "\n")
        }
    }

    /// Makes one up and runs it.
    static func run(seed: UInt64, events: Int = 30, on cluster: HistoryCluster) async throws {
        var generator = HistoryGenerator(seed: seed)
        try await run(seed, on: cluster) { runner in
            if generator.beginsWhole { try await begin(&runner, generator.firstSpecs) }
            for _ in 0..<events {
                try await runner.run(generator.event(runner.model, runner.tickets))
            }
        }
    }

    /// Runs given events, and the end that every history has; used to shorten one.
    static func run(_ events: [Event], on cluster: HistoryCluster) async throws {
        try await run(nil, on: cluster) { runner in
            for event in events { try await runner.run(event) }
        }
    }

    private static func run(
        _ seed: UInt64?, on cluster: HistoryCluster,
        _ body: (inout HistoryRunner) async throws -> Void
    ) async throws {
        var runner = try await HistoryRunner.begin(on: cluster)
        var madeCount: Int?
        do {
            try await body(&runner)
            madeCount = runner.events.count
            try await drain(&runner)
        } catch let disagreement as Disagreement {
            throw Failed(
                seed: seed, events: runner.events, madeCount: madeCount ?? runner.events.count,
                kind: disagreement.kind, findings: disagreement.findings)
        }
    }

    /// A catalog that is completed, for what happens to such.
    private static func begin(_ runner: inout HistoryRunner, _ specs: [AssetSpec]) async throws {
        try await runner.run(Event(actions: [Action(step: .open(0))]))
        try await run(.add(0, generation: 1, specs), &runner)
        try await run(.start(0, generation: 1), &runner)
        var lease = 2 * firstLease
        try await finish(&runner, &lease)
        try await run(.operate(Operation(action: .refresh, catalog: 0)), &runner)
    }

    /// Leases of what is done at the end; numbers that no generator reaches.
    private static let firstLease = 1_000_000

    /// All faults heal: leases expire, delays pass, and one worker does what there
    /// is. Everything that was started has to end; then all is wanted again, and has to be whole.
    private static func drain(_ runner: inout HistoryRunner) async throws {
        var lease = firstLease
        for site in runner.model.queues.keys.sorted() {
            try await run(.control(site: site, .active), &runner)
        }
        for number in runner.model.catalogs.filter(\.value.isHeldBack).keys.sorted() {
            try await run(
                .operate(Operation(action: .reschedule, catalog: number)), &runner)
        }
        try await resume(&runner)
        try await finish(&runner, &lease)
        for number in runner.model.catalogs.keys.sorted() {
            try await resubmit(number, &runner)
        }
        // Rejected before, if a submission was open or files were being published.
        try await resume(&runner)
        try await finish(&runner, &lease)
        for (number, catalog) in runner.model.catalogs where catalog.state != .completed {
            throw Disagreement(
                kind: "end", findings: ["c\(number): \(catalog.state) after a run without faults"]
            )
        }
    }

    private static func resume(_ runner: inout HistoryRunner) async throws {
        let paused = runner.model.catalogs.filter {
            $0.value.assets.values.contains(where: \.isPaused)
        }
        for number in paused.keys.sorted() {
            try await run(.operate(Operation(action: .resume, catalog: number)), &runner)
        }
    }

    private static func resubmit(_ number: Int, _ runner: inout HistoryRunner) async throws {
        try await run(.open(number), &runner)
        guard let catalog = runner.model.catalogs[number] else { return }
        let specs = catalog.assets.values.map(\.spec).sorted { $0.name < $1.name }
        if !specs.isEmpty {
            try await run(.add(number, generation: catalog.opened, specs), &runner)
        }
        try await run(.start(number, generation: catalog.opened), &runner)
    }

    private static func finish(_ runner: inout HistoryRunner, _ lease: inout Int) async throws {
        let live = runner.model.leases.keys.sorted()
        if !live.isEmpty {
            try await run(.expire(live), &runner)
            try await run(.sweep(1), &runner)
        }
        // Resolve, fetch, and list digests: a few rounds a site.
        for round in 0... {
            if runner.model.isWaiting { try await run(.due, &runner) }
            lease += 1
            let claim = Step.claim(lease: lease, worker: 0, sites: [], most: 1_000)
            guard case .granted(let given)? = try await run(claim, &runner).first, !given.isEmpty
            else { break }
            guard round < 30 else {
                throw Disagreement(
                    kind: "end", findings: ["work without end: \(given.map(\.work))"])
            }
            var results: [WorkResult] = []
            for (index, one) in given.enumerated() {
                let ticket = Ticket(lease: lease, work: one.work)
                if one.work.kind == .resolve {
                    let segments = (0..<2).map {
                        HistoryGenerator.segment(
                            one.work, $0, version: 0, folder: 0, signature: 9)
                    }
                    try await run(.addSegments(worker: 0, ticket, segments), &runner)
                }
                let digest = HistoryGenerator.digest(lease << 16 + index)
                results.append(WorkResult(ticket: ticket, outcome: success(one, digest)))
            }
            try await run(.report(worker: 0, results), &runner)
        }
        for (number, catalog) in runner.model.catalogs {
            let open = catalog.assets.filter { $0.value.isCounted && !$0.value.state.isSettled }
            guard open.isEmpty, catalog.state != .running else {
                throw Disagreement(
                    kind: "end", findings: ["c\(number) never ends: \(open.keys.sorted())"])
            }
        }
        guard runner.model.jobs.isEmpty else {
            throw Disagreement(
                kind: "end", findings: ["jobs that no worker gets: \(runner.model.jobs.keys)"])
        }
    }

    private static func success(_ granted: Granted, _ digest: String) -> WorkResult.Outcome {
        switch granted.work.kind {
        case .resolve: .resolved(2)
        case .checksums, .purge: .written
        case .refresh: .refreshed(.unchanged)
        case .publish: .refreshed(.changed)
        case .fetch, .verify:
            .stored(bytes: granted.length ?? 10, sha256: digest, isReused: false)
        }
    }

    @discardableResult
    private static func run(_ step: Step, _ runner: inout HistoryRunner) async throws -> [Answer] {
        // What changes no count is seen with what comes after it.
        let looks =
            switch step {
            case .report, .sweep, .start: true
            default: false
            }
        return try await runner.run(Event(actions: [Action(step: step)]), looks: looks)
    }
}
