import API
import CoordinatorClient
import Model
import Rendering

/// Measures the time until one of several idle workers has a job that was just submitted.
///
/// Submits one file asset at a time. The clock starts before the request that starts its catalog,
/// and stops when a worker has read the lease. So it includes submitting, committing, waking,
/// claiming and two answers. The time since the submitter's answer, when the job is durable, is
/// reported as well.
struct WakeUpBenchmark: Sendable {
    let cluster: BenchmarkCluster
    let options: BenchmarkOptions
    let count: Int
    let note: @Sendable (String) -> Void

    private static let patienceSeconds = 30.0

    private struct Times {
        var sinceRequest = Samples()
        var sinceAnswer = Samples()
    }

    func run() async throws -> WakeUpReport {
        let database = try await cluster.addDatabase(named: "wake_up")
        try await database.fillFinished(max(options.finished, 1_000), as: "wake-up", options)
        try await database.tables.settle()
        let (grants, sender) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        let workers = IdleWorkers(
            client: try cluster.client(
                of: database.coordinator, connections: 2 * options.idleWorkers),
            queue: try await database.tables.firstQueueName(), count: options.idleWorkers
        ) { sender.yield($0) }
        note("\(count) wake-ups of \(options.idleWorkers) idle workers")
        return try await withThrowingTaskGroup(of: WakeUpReport?.self) { group in
            group.addTask {
                try await workers.run()
                return nil
            }
            group.addTask { try await submit(database, grants) }
            defer { group.cancelAll() }
            while let report = try await group.next() {
                if let report { return report }
            }
            throw Failure(.workerInternal, "the idle workers ended")
        }
    }

    private func submit(
        _ database: BenchmarkDatabase, _ grants: AsyncStream<ContinuousClock.Instant>
    ) async throws -> WakeUpReport {
        try await Task.sleep(for: .seconds(IdleWorkers.startSeconds))
        var times = Times()
        var grants = grants.makeAsyncIterator()
        // The first ones warm up and do not count.
        let warmUp = max(count / 20, 1)
        for number in 0..<(count + warmUp) {
            let work = BenchmarkWork(
                name: "wake-up", number: number, segments: 1, segmentsPerTitle: 1, origins: 1)
            let handle = try await open(work, database.client)
            // All polls are waiting again, at a random time after their last answers.
            try await Task.sleep(for: .milliseconds(Int.random(in: 30...80)))
            let request = ContinuousClock.now
            try await database.client.start(
                handle.id, CatalogStartRequest(generation: handle.generation))
            let answer = ContinuousClock.now
            guard let grant = await grants.next() else { throw CancellationError() }
            if number >= warmUp {
                times.sinceRequest.add(request.duration(to: grant).inSeconds)
                times.sinceAnswer.add(max(0, answer.duration(to: grant).inSeconds))
            }
            try await waitForEnd(of: handle.id, database.client)
        }
        return WakeUpReport(
            wakeUps: count, idleWorkers: options.idleWorkers, sinceRequest: times.sinceRequest,
            sinceAnswer: times.sinceAnswer)
    }

    private func open(
        _ work: BenchmarkWork, _ client: CoordinatorClient
    ) async throws -> CatalogHandle {
        let handle = try await client.openCatalog(
            CatalogSubmission(name: work.catalog, storageURL: work.storageURL))
        try await client.submit(
            AssetBatch(generation: handle.generation, assets: [work.asset(0)]), to: handle.id)
        return handle
    }

    /// Waits for the catalog's end: its checksum file is a job too, and must end before the next
    /// submission.
    private func waitForEnd(of catalog: CatalogID, _ client: CoordinatorClient) async throws {
        let deadline = ContinuousClock.now + .seconds(Self.patienceSeconds)
        while try await !client.status(of: catalog).state.isTerminal {
            guard ContinuousClock.now < deadline else {
                throw Failure(.workerInternal, "catalog \(catalog) does not end")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// The result of `WakeUpBenchmark`.
struct WakeUpReport: BenchmarkReport {
    let mode = "wakeUp"
    var wakeUps: Int
    var idleWorkers: Int
    /// Time from the submission's last request to the worker's lease.
    var wakeUpP50Milliseconds: Double
    var wakeUpP99Milliseconds: Double
    /// Time from the answer to that request, when the job is known to be durable; 0 if the worker
    /// had it before.
    var sinceAnswerP50Milliseconds: Double
    var sinceAnswerP99Milliseconds: Double

    init(wakeUps: Int, idleWorkers: Int, sinceRequest: Samples, sinceAnswer: Samples) {
        self.wakeUps = wakeUps
        self.idleWorkers = idleWorkers
        func shown(_ samples: Samples, _ fraction: Double) -> Double {
            (samples.quantile(fraction) * 1_000).rounded(places: 2)
        }
        wakeUpP50Milliseconds = shown(sinceRequest, 0.5)
        wakeUpP99Milliseconds = shown(sinceRequest, 0.99)
        sinceAnswerP50Milliseconds = shown(sinceAnswer, 0.5)
        sinceAnswerP99Milliseconds = shown(sinceAnswer, 0.99)
    }

    var text: String {
        "\(HumanFormat.count(wakeUps, "wake-up")), "
            + "\(HumanFormat.count(idleWorkers, "idle worker"))\n\n"
            + TextLayout.table(
                headings: ["Until a worker has the job, since", "p50", "p99"],
                alignments: [.left, .right, .right],
                rows: [
                    [
                        "the request to start it", milliseconds(wakeUpP50Milliseconds),
                        milliseconds(wakeUpP99Milliseconds),
                    ],
                    [
                        "the answer to that", milliseconds(sinceAnswerP50Milliseconds),
                        milliseconds(sinceAnswerP99Milliseconds),
                    ],
                ])
    }
}
