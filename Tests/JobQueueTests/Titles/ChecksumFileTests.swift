import API
import JobQueue
import Model
import Postgres
import Statistics
import TestSupport
import Testing

/// One `SHA256SUMS` per directory, for any number of catalogs and workers that write to it.
@Suite struct ChecksumFileTests {
    typealias F = QueueFixture

    /// Fetches everything that waits, and leaves the lists.
    private static func fetchAll(_ fixture: F) async throws {
        while true {
            let grant = try await fixture.lease()
            let fetches = grant.jobs.filter { $0.kind != .checksums }
            let lists = grant.jobs.filter { $0.kind == .checksums }
            guard grant.lease != nil else { return }
            _ = try await fixture.report(
                fetches.map { F.done($0, grant) } + lists.map { back($0, grant) })
            if fetches.isEmpty { return }
        }
    }

    private static func back(_ job: Job, _ grant: LeaseGrant) -> JobReport {
        JobReport(job: job.id, lease: grant.lease ?? "", outcome: .returned())
    }

    private static func turns(
        _ fixture: F, _ grant: LeaseGrant, as worker: WorkerID? = nil
    ) async throws -> [ChecksumTurns.Turn] {
        try await fixture.queue.sites.checksums.turns(
            ChecksumTurnRequest(
                worker: worker ?? fixture.worker, lease: grant.lease ?? "",
                jobs: grant.jobs.map(\.id))
        ).turns
    }

    private static func letLostTurnsAge(_ fixture: F) async throws {
        try await fixture.pool.query(
            "UPDATE checksum_file_writer SET lost_at = lost_at - interval '31 seconds'")
    }

    /// The jobs of a lease that a heartbeat reports as cancelled.
    private static func cancelled(_ fixture: F, _ grant: LeaseGrant) async throws -> [JobID] {
        try await fixture.queue.jobs.leases.heartbeat(
            Heartbeat(
                worker: fixture.worker, leases: [grant.lease ?? ""], progress: [:], name: "w",
                activeTransfers: 0)
        ).cancelled ?? []
    }

    /// What a page after another lists of the only directory.
    private static func listed(
        _ fixture: F, _ grant: LeaseGrant, rows: Int
    ) async throws -> [String] {
        let site = try #require(grant.site).id
        var keys: [String] = []
        var after: String?
        repeat {
            let page = try await fixture.queue.sites.checksums.page(
                site: site, directory: "origin.test/files", after: after, limit: rows)
            keys += page.entries.map(\.key)
            after = page.next
        } while after != nil
        return keys
    }

    @Test func oneListServesAllCatalogsThatWaitForIt() async throws {
        try await F.with { fixture in
            var catalogs: [CatalogID] = []
            for number in 1...100 {
                catalogs.append(
                    try await fixture.submit([F.file("f\(number)")], catalog: "c\(number)"))
            }
            try await Self.fetchAll(fixture)

            let workers = (1...10).map { _ in WorkerID.random() }
            var grants: [(worker: WorkerID, grant: LeaseGrant)] = []
            for worker in workers {
                grants.append((worker, try await fixture.lease(8, as: worker)))
            }
            var writes: [(WorkerID, LeaseGrant, Job)] = []
            for (worker, grant) in grants {
                #expect(grant.jobs.count == 8)
                let turns = try await Self.turns(fixture, grant, as: worker)
                for (job, turn) in zip(grant.jobs, turns) {
                    if turn == .write { writes.append((worker, grant, job)) }
                    guard turn == .wait else { continue }
                    var report = Self.back(job, grant)
                    report.outcome = .returned(afterSeconds: 30)
                    #expect(try await fixture.report([report], as: worker) == [.accepted])
                }
            }
            #expect(writes.count == 1)
            // An answer that was lost is given again.
            let (worker, grant, job) = try #require(writes.first)
            #expect(try await Self.turns(fixture, grant, as: worker).contains(.write))
            #expect(try await Self.listed(fixture, grant, rows: 7).count == 100)
            _ = try await fixture.report([F.done(job, grant)], as: worker)

            // Those that had waited for a turn are not leased before their time is over.
            var rest = try await fixture.lease()
            #expect(rest.jobs.count == 20)
            var left = 99
            while rest.lease != nil {
                #expect(try await Self.turns(fixture, rest).allSatisfy { $0 == .written })
                left -= rest.jobs.count
                _ = try await fixture.report(rest.jobs.map { F.done($0, rest) })
                try await fixture.skipDelays()
                rest = try await fixture.lease()
            }
            #expect(left == 0)
            for catalog in catalogs {
                let status = try await fixture.queue.catalogs.status(of: catalog)
                #expect(status.state == .completed && status.totals.retries == 0)
            }
            #expect(try await fixture.count("checksum_file_writer") == 0)
        }
    }

    @Test func aCatalogEndsWhileAnotherFillsItsDirectory() async throws {
        try await F.with { fixture in
            let busy = try await fixture.submit(
                (1...50).map { F.file("b\($0)") }, catalog: "busy", priority: 1)
            let first = try await fixture.submit([F.file("a")], catalog: "first", priority: 9)
            let fetch = try await fixture.lease(1)
            _ = try await fixture.report([F.done(fetch.jobs[0], fetch)])
            let list = try await fixture.lease(1)
            #expect(list.jobs.map(\.kind) == [.checksums])
            #expect(try await Self.turns(fixture, list) == [.write])
            // What the other completes while the list is written is its own list's.
            let other = try await fixture.lease(30)
            _ = try await fixture.report(other.jobs.map { F.done($0, other) })
            _ = try await fixture.report([F.done(list.jobs[0], list)])
            let status = try await fixture.queue.catalogs.status(of: first)
            #expect(status.state == .completed && status.totals.retries == 0)
            #expect(try await fixture.queue.catalogs.status(of: busy).state == .running)
        }
    }

    @Test func whatEndsAfterAListWasReadHasItWrittenAgain() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")], catalog: "one")
            try await Self.fetchAll(fixture)
            let first = try await fixture.lease()
            #expect(try await Self.turns(fixture, first) == [.write])

            let two = try await fixture.submit([F.file("b")], catalog: "two")
            try await Self.fetchAll(fixture)
            let second = try await fixture.lease()
            #expect(try await Self.turns(fixture, second) == [.wait])
            _ = try await fixture.report([F.done(first.jobs[0], first)])
            #expect(try await Self.turns(fixture, second) == [.write])
            #expect(
                try await Self.listed(fixture, second, rows: 1)
                    == ["origin.test/files/a", "origin.test/files/b"])
            _ = try await fixture.report([F.done(second.jobs[0], second)])
            #expect(try await fixture.queue.catalogs.status(of: two).state == .completed)

            // A catalog whose directory gets something new has its list written for that.
            try await fixture.submit([F.file("a"), F.file("c")], catalog: "one")
            try await Self.fetchAll(fixture)
            let third = try await fixture.lease()
            #expect(try await Self.turns(fixture, third) == [.write])
        }
    }

    @Test func eachChangeOfADirectorysPartIsSeen() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            try await Self.fetchAll(fixture)
            let first = try await fixture.lease()
            #expect(try await Self.turns(fixture, first) == [.write])
            _ = try await fixture.report([F.done(first.jobs[0], first)])

            // Another asset ends there.
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            try await Self.fetchAll(fixture)
            let second = try await fixture.lease()
            #expect(try await Self.turns(fixture, second) == [.write])
            _ = try await fixture.report([F.failed(second.jobs[0], second, "storage.permission")])
            let retry = SelectionAction(.retry, catalog: CatalogReference(catalog))
            #expect(try await fixture.queue.catalogs.selections.apply(retry).jobs == 1)
            try await fixture.expectSeen(TransitionLog.ofChecksumFiles)
        }
    }

    @Test func aTurnEndsWithItsLeaseItsFailureOrItsReturn() async throws {
        try await F.with { fixture in
            for name in ["one", "two"] {
                try await fixture.submit([F.file(name)], catalog: name)
            }
            try await Self.fetchAll(fixture)
            var writer = try await fixture.lease(1)
            #expect(try await Self.turns(fixture, writer) == [.write])
            // Another worker's lease is not this one's.
            #expect(try await Self.turns(fixture, writer, as: .random()) == [.stale])
            try await fixture.expireLeases()
            #expect(try await Self.turns(fixture, writer) == [.stale])

            for end in [nil, "storage.syncFailed"] as [FailureCode?] {
                writer = try await fixture.lease(1)
                #expect(try await Self.turns(fixture, writer) == [.write])
                let other = try await fixture.lease(1)
                #expect(try await Self.turns(fixture, other) == [.wait])
                let job = writer.jobs[0]
                _ = try await fixture.report([
                    end.map { F.failed(job, writer, $0) } ?? Self.back(job, writer)
                ])
                #expect(try await Self.turns(fixture, other) == [.write])
                _ = try await fixture.report([Self.back(other.jobs[0], other)])
                try await fixture.skipDelays()
            }
            try await fixture.drain()
            try await fixture.queue.housekeeping.tables.delete()
            #expect(try await fixture.count("checksum_file_writer") == 0)
        }
    }

    /// A heartbeat notifies its worker, which may write until then.
    @Test func aWriterWhoseCatalogIsInterruptedHasTimeToNotice() async throws {
        try await F.with { fixture in
            // With an asset that is still to be fetched, or the catalog would have ended.
            var later = F.file("later/c")
            later.notBefore = 4_000_000_000
            let one = try await fixture.submit([F.file("a"), later], catalog: "one")
            try await Self.fetchAll(fixture)
            // A lease stands until its worker ends it.
            let writer = try await fixture.lease()
            let lists = writer.jobs.filter { $0.kind == .checksums }.map(\.id)
            let asked = ChecksumTurnRequest(
                worker: fixture.worker, lease: writer.lease ?? "", jobs: lists)
            #expect(try await fixture.queue.sites.checksums.turns(asked).turns == [.write])
            try await fixture.queue.catalogs.submissions.interrupt(one)
            #expect(try await fixture.queue.sites.checksums.turns(asked).turns == [.stale])

            try await fixture.submit([F.file("b")], catalog: "two")
            try await Self.fetchAll(fixture)
            let other = try await fixture.lease()
            #expect(other.jobs.map(\.kind) == [.checksums])
            #expect(try await Self.turns(fixture, other) == [.wait])
            try await Self.letLostTurnsAge(fixture)
            #expect(try await Self.turns(fixture, other) == [.wait], "its worker has not reported")
            #expect(try await Self.cancelled(fixture, writer) == lists)
            #expect(try await Self.turns(fixture, other) == [.write])
        }
    }

    /// Workers that write, die, sleep and give back in any order: what lies there in the end lists everything.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func theLastListIsCompleteInAnyOrder(seed: UInt64) async throws {
        try await F.with { fixture in
            var random = SeededRandom(seed: seed)
            var submitted: [String] = []
            var file: [String] = []
            /// Lists that were read and are not in place yet.
            var writing: [(grant: LeaseGrant, job: Job, keys: [String])] = []
            var catalogs: [String: (id: CatalogID, names: [String])] = [:]
            for step in 1...120 {
                switch Int.random(in: 0..<11, using: &random) {
                case 0...1 where step < 90, 10 where step < 90:
                    var names = (0..<Int.random(in: 1...3, using: &random)).map { "s\(step)-\($0)" }
                    submitted += names.map { "origin.test/files/\($0)" }
                    // One that is new, or more of one that may be listed just now.
                    var catalog = "c\(step)"
                    if Bool.random(using: &random),
                        let known = catalogs.keys.sorted().randomElement(using: &random)
                    {
                        catalog = known
                        names += catalogs[known]?.names ?? []
                        if let id = catalogs[known]?.id, Bool.random(using: &random) {
                            try await fixture.queue.catalogs.submissions.interrupt(id)
                        }
                    }
                    let id = try await fixture.submit(names.map { F.file($0) }, catalog: catalog)
                    catalogs[catalog] = (id, names)
                    var notified: Set<JobID> = []
                    for end in writing {
                        notified.formUnion(try await Self.cancelled(fixture, end.grant))
                    }
                    writing.removeAll { notified.contains($0.job.id) }
                case 2 where writing.contains { $0.job.attempt < 5 }:
                    // Dead, or asleep beyond its lease: it replaces nothing any more. Only the fifth loss would
                    // fail the job.
                    try await fixture.expireLeases()
                    writing = []
                case 3...5 where !writing.isEmpty:
                    let end = writing.remove(
                        at: Int.random(in: 0..<writing.count, using: &random))
                    if Bool.random(using: &random) {
                        file = end.keys
                        #expect(
                            try await fixture.report([F.done(end.job, end.grant)]) == [.accepted])
                    } else {
                        _ = try await fixture.report([Self.back(end.job, end.grant)])
                    }
                default:
                    try await fixture.skipDelays()
                    try await Self.letLostTurnsAge(fixture)
                    let grant = try await fixture.lease(
                        Int.random(in: 1...4, using: &random))
                    guard grant.lease != nil else { continue }
                    let fetches = grant.jobs.filter { $0.kind != .checksums }
                    _ = try await fixture.report(fetches.map { F.done($0, grant) })
                    let lists = grant.jobs.filter { $0.kind == .checksums }
                    guard !lists.isEmpty else { continue }
                    let turns = try await fixture.queue.sites.checksums.turns(
                        ChecksumTurnRequest(
                            worker: fixture.worker, lease: grant.lease ?? "",
                            jobs: lists.map(\.id))
                    ).turns
                    for (job, turn) in zip(lists, turns) {
                        switch turn {
                        case .write:
                            writing.append(
                                (grant, job, try await Self.listed(fixture, grant, rows: 2)))
                        case .written: _ = try await fixture.report([F.done(job, grant)])
                        case .wait: _ = try await fixture.report([Self.back(job, grant)])
                        case .stale: Issue.record("a lease that holds the job is stale")
                        }
                    }
                    #expect(writing.count <= 1)
                }
            }
            for end in writing { _ = try await fixture.report([Self.back(end.job, end.grant)]) }
            while true {
                try await fixture.skipDelays()
                try await Self.letLostTurnsAge(fixture)
                let grant = try await fixture.lease()
                guard grant.lease != nil else { break }
                _ = try await Self.cancelled(fixture, grant)
                for job in grant.jobs {
                    if job.kind == .checksums {
                        let turn = try await fixture.queue.sites.checksums.turns(
                            ChecksumTurnRequest(
                                worker: fixture.worker, lease: grant.lease ?? "", jobs: [job.id])
                        ).turns
                        if turn == [.wait] {
                            _ = try await fixture.report([Self.back(job, grant)])
                            continue
                        }
                        if turn == [.write] {
                            file = try await Self.listed(fixture, grant, rows: 3)
                        }
                    }
                    _ = try await fixture.report([F.done(job, grant)])
                }
            }
            #expect(file.sorted() == submitted.sorted())
            for (name, catalog) in catalogs {
                let state = try await fixture.queue.catalogs.status(of: catalog.id).state
                #expect(state == .completed, "\(name)")
            }
        }
    }
}
