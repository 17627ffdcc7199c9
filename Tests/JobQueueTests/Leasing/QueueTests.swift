import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

@Suite struct QueueTests {
    typealias F = QueueFixture

    @Test func filesAreLeasedInOrderAndCompleteTheirCatalog() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...3).map { F.file("f\($0)") })
            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.key) == (1...3).map { "origin.test/files/f\($0)" })
            #expect(grant.jobs.allSatisfy { $0.kind == .fetch && $0.attempt == 1 })
            #expect(grant.site?.storageURL == F.site)
            #expect(try await fixture.lease().lease == nil)
            let verdicts = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            #expect(verdicts == [.accepted, .accepted, .accepted])

            // The list of digests comes last; only then has the catalog ended.
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
            let lists = try await fixture.lease()
            #expect(lists.jobs.map(\.kind) == [.checksums])
            #expect(lists.jobs.map(\.key) == ["origin.test/files"])
            _ = try await fixture.report([F.done(lists.jobs[0], lists)])
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed)
            #expect(status.totals.completed == 3 && status.totals.bytes == 30)
            #expect(try await fixture.count("job") == 0)
        }
    }

    @Test func aReportWithoutTheLeaseIsStaleAndChangesNothing() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            let old = try await fixture.lease()
            try await fixture.expireLeases()
            let new = try await fixture.lease()
            #expect(new.jobs.map(\.attempt) == [2])

            #expect(try await fixture.report([F.done(old.jobs[0], old)]) == [.stale])
            let failure = F.failed(old.jobs[0], old, "origin.http.404")
            #expect(try await fixture.report([failure]) == [.stale])
            // The right lease in the wrong hands.
            let foreign = try await fixture.report(
                [F.done(new.jobs[0], new)], as: WorkerID.random())
            #expect(foreign == [.stale])
            #expect(try await fixture.count("result") == 0)
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.segmentsDone == 0)

            #expect(try await fixture.report([F.done(new.jobs[0], new)]) == [.accepted])
        }
    }

    @Test func aRepeatedReportHasOneEffect() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            let grant = try await fixture.lease()
            let result = F.done(grant.jobs[0], grant)
            #expect(try await fixture.report([result, result]) == [.accepted, .stale])
            #expect(try await fixture.report([result]) == [.stale])
            let totals = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(totals.segmentsDone == 1 && totals.bytes == 10 && totals.completed == 1)
        }
    }

    @Test func aBatchWithTwoLeasesOfOneFileCountsTheOneThatHoldsIt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            let old = try await fixture.lease()
            try await fixture.expireLeases()
            let new = try await fixture.lease()
            // The job that is held, under a lease that never had it.
            var wrong = F.failed(new.jobs[0], new, "origin.http.404")
            wrong.lease = old.lease ?? ""
            let results = [wrong, F.done(new.jobs[0], new, bytes: 1)]
            #expect(try await fixture.report(results).first == .stale)
            #expect(try await fixture.count("result WHERE NOT done") == 0)
            _ = try await fixture.report([
                F.done(old.jobs[0], old, bytes: 2), F.done(new.jobs[0], new, bytes: 1),
            ])
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.bytes == 1)
        }
    }

    @Test func aHeartbeatKeepsALeaseAndReportsALostOne() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a"), F.file("b")])
            let kept = try await fixture.lease(1)
            let lost = try await fixture.lease(1)
            let leases = [kept.lease ?? "", lost.lease ?? ""]
            try await fixture.pool.query(
                "UPDATE lease SET expires_at = now() - interval '1 second'")
            let beat = Heartbeat(
                worker: fixture.worker, leases: [leases[0]], progress: [:], name: "w",
                activeTransfers: 1)
            #expect(try await fixture.queue.jobs.leases.heartbeat(beat).leases == [leases[0]])
            #expect(try await fixture.queue.jobs.leases.sweep() == 1)
            var both = beat
            both.leases = leases
            #expect(try await fixture.queue.jobs.leases.heartbeat(both).leases == [leases[0]])
            // A lease is extended for the worker that holds it only.
            both.worker = .random()
            #expect(try await fixture.queue.jobs.leases.heartbeat(both).leases.isEmpty)
            #expect(try await fixture.report([F.done(kept.jobs[0], kept)]) == [.accepted])
            #expect(try await fixture.report([F.done(lost.jobs[0], lost)]) == [.stale])
        }
    }

    @Test func failuresAreRetriedByTheTable() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([
                F.file("gone"), F.file("flaky"), F.file("full"),
            ])
            var attempts: [String: Int] = [:]
            for _ in 1...7 {
                let grant = try await fixture.lease()
                var results: [JobReport] = []
                for job in grant.jobs where job.kind == .fetch {
                    attempts[job.key, default: 0] += 1
                    let code: FailureCode =
                        job.key.hasSuffix("gone")
                        ? "origin.http.404"
                        : job.key.hasSuffix("flaky")
                            ? "origin.http.502" : "storage.full"
                    results.append(F.failed(job, grant, code))
                }
                if !results.isEmpty { _ = try await fixture.report(results) }
                // A site's fault waits some seconds; its time has come.
                try await fixture.skipDelays()
            }
            #expect(attempts["origin.test/files/gone"] == 1)
            #expect(attempts["origin.test/files/flaky"] == 5)
            #expect(attempts["origin.test/files/full"] == 7)
            let states = try await fixture.assets(of: catalog).map { ($0.state, $0.failure?.code) }
            #expect(states.map(\.0) == [.failed, .failed, .ready])
            #expect(states.map(\.1) == ["origin.http.404", "origin.http.502", nil])
            // The full disk used up no attempt.
            let grant = try await fixture.lease()
            #expect(grant.jobs.filter { $0.kind == .fetch }.map(\.attempt) == [1])
        }
    }

    @Test func aWorkerThatVanishesTooOftenFailsTheJob() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("poison")])
            for attempt in 1...5 {
                #expect(try await fixture.lease().jobs.map(\.attempt) == [attempt])
                try await fixture.expireLeases()
            }
            let asset = try await fixture.assets(of: catalog)[0]
            #expect(asset.state == .failed && asset.failure?.code == "worker.lost")
        }
    }

    @Test func whatIsGivenBackUsesUpNoAttempt() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            for _ in 1...8 {
                let grant = try await fixture.lease()
                #expect(grant.jobs.map(\.attempt) == [1])
                let back = JobReport(
                    job: grant.jobs[0].id, lease: grant.lease ?? "", outcome: .returned())
                #expect(try await fixture.report([back]) == [.accepted])
            }
        }
    }

    @Test func retryAfterCoolsTheOriginDownForAll() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a"), F.file("b")])
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([
                F.failed(grant.jobs[0], grant, "origin.http.429", retryAfter: 60)
            ])
            #expect(try await fixture.lease().lease == nil)
            try await fixture.pool.query("UPDATE origin SET cooldown_until = now()")
            #expect(try await fixture.lease().jobs.map(\.key) == ["origin.test/files/b"])
        }
    }

    @Test func resultsThatMakeNoSenseAreRejected() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let grant = try await fixture.lease()
            let job = grant.jobs[0]
            var bad: [JobReport] = [
                JobReport(job: job.id, lease: grant.lease ?? "", outcome: .done())
            ]
            var negative = F.done(job, grant)
            negative.stored?.bytes = -1
            var short = F.done(job, grant)
            short.stored?.sha256 = "abc"
            bad += [negative, short]
            for result in bad { #expect(try await fixture.report([result]) == [.rejected]) }
            #expect(try await fixture.report([F.done(job, grant)]) == [.accepted])
        }
    }

    /// With a code that a worker holds on to its results for.
    @Test(
        arguments: [
            ("53100", "cluster.busy"), ("25006", "cluster.busy"), ("40P01", "cluster.busy"),
            ("58030", "cluster.busy"), ("57014", "cluster.busy"),
            ("57P01", "cluster.databaseUnreachable"), ("23514", "worker.internal"),
        ] as [(String, FailureCode)])
    func serverFailuresDifferFromStatementFailures(sqlState: String, code: FailureCode) {
        let error = PostgresError(.server, "no", sqlState: sqlState)
        #expect(Failure(queue: error).code == code)
    }

    @Test func manyLeasesThatRunOutTogetherAreAllEnded() async throws {
        try await F.with { fixture in
            try await fixture.submit((1...120).map { F.file("f\($0)") })
            for _ in 1...120 { _ = try await fixture.lease(1) }
            // Its worker lives, and has let go of them.
            _ = try await fixture.queue.jobs.leases.heartbeat(
                Heartbeat(
                    worker: fixture.worker, leases: [], progress: [:], name: "w",
                    activeTransfers: 0))
            try await fixture.pool.query(
                "UPDATE lease SET expires_at = now() - interval '1 second'")
            #expect(try await fixture.queue.jobs.leases.sweep() == 120)
            #expect(try await fixture.lease(200).jobs.count == 120)
        }
    }

    @Test func eightWorkersShareTwoThousandJobsOnceEach() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((1...2_000).map { F.file("f\($0)") })
            let taken = try await withThrowingTaskGroup(of: [JobID].self) { group in
                for _ in 1...8 {
                    group.addTask {
                        let worker = WorkerID.random()
                        var jobs: [JobID] = []
                        while true {
                            let grant = try await fixture.lease(37, as: worker)
                            guard grant.lease != nil else { return jobs }
                            jobs += grant.jobs.map(\.id)
                            let results = grant.jobs.map { F.done($0, grant) }
                            let verdicts = try await fixture.report(results, as: worker)
                            #expect(verdicts.allSatisfy { $0 == .accepted })
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            // One of them wrote the list of digests.
            try await fixture.drain()
            #expect(Set(taken).count == taken.count)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.segmentsDone == 2_000)
            #expect(status.totals.bytes == 20_000)
        }
    }
}
