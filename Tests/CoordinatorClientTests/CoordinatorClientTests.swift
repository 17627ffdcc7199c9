import API
import CoordinatorClient
import FoundationEssentials
import HTTPServer
import Model
import Synchronization
import TestSupport
import Testing

@Suite("Speaking to a coordinator")
struct CoordinatorClientTests {
    @Test("each method has its route")
    func routes() async throws {
        let lease: LeaseID = "11111111-2222-3333-4444-555555555555"
        try await withCoordinator { request in
            switch request.path {
            case "/v1/catalogs": json(CatalogHandle(id: CatalogID(7), queue: "q", generation: 3))
            case "/v1/leases":
                json(
                    LeaseGrant(
                        lease: lease, seconds: 60,
                        site: LeasedSite(id: SiteID(1), storageURL: "file:///edge")))
            case "/v1/reports": json(ReportAnswer(answers: [.stale]))
            case "/v1/heartbeats": json(HeartbeatAnswer(leases: [lease], seconds: 60))
            case "/v1/segments", "/v1/splits": json(VerdictAnswer(verdict: .accepted))
            case "/v1/checksums/turns": json(ChecksumTurns(turns: [.wait]))
            case "/v1/purges": json(PurgePage(files: [.init(file: 4, key: "h/a")]))
            case "/v1/sites/volumes": json(SiteVolumeAnswer(volume: "v"))
            case "/v1/checksums": json(ChecksumPage(entries: [], next: "n"))
            case "/v1/catalogs/7/assets" where request.method == "GET":
                json(AssetPage(assets: [], next: nil))
            case "/v1/catalogs/7/files": json(FilePage(files: [], next: nil))
            default: json([String: String]())
            }
        } _: { client, log in
            let handle = try await client.openCatalog(.init(name: "n", storageURL: "file:///x"))
            #expect(handle.id == CatalogID(7))
            try await client.submit(AssetBatch(generation: 3, assets: []), to: handle.id)
            try await client.start(handle.id, CatalogStartRequest(generation: 3))
            try await client.interrupt(handle.id)
            _ = try await client.assets(of: handle.id, after: "5", state: .failed)
            _ = try await client.files(of: handle.id, after: "a/b&c=d é")
            let grant = try await client.lease(
                LeaseRequest(worker: "w", queues: [], maxJobs: 1, waitMilliseconds: 0))
            #expect(grant.lease == lease)
            let verdict = try await client.report(ReportRequest(worker: "w", results: []))
            #expect(verdict.answers == [.stale])
            _ = try await client.heartbeat(
                Heartbeat(
                    worker: "w", leases: [lease], progress: [:], name: "n",
                    activeTransfers: 0))
            _ = try await client.segments(
                SegmentBatch(worker: "w", job: JobID(1), lease: lease, segments: []))
            _ = try await client.split(
                SplitRequest(
                    worker: "w", job: JobID(1), lease: lease, multipart: "a", totalBytes: 2,
                    partBytes: 1, validator: "\"v\""))
            let turns = try await client.checksumTurns(
                ChecksumTurnRequest(worker: "w", lease: lease, jobs: [JobID(1)]))
            #expect(turns.turns == [.wait])
            let checksums = try await client.checksums(
                site: SiteID(1), directory: "h/ü x", after: nil)
            #expect(checksums.next == "n")
            let volume = try await client.volume(SiteVolumeRequest(worker: "w", site: SiteID(1)))
            #expect(volume.volume == "v")
            let purge = try await client.purge(
                PurgeRequest(worker: "w", job: JobID(1), lease: lease))
            #expect(purge.files.map(\.key) == ["h/a"] && purge.waitSeconds == nil)
            try await client.readiness()

            let seen = log.all.map { "\($0.method) \($0.path)" }
            #expect(
                seen == [
                    "POST /v1/catalogs", "POST /v1/catalogs/7/assets", "POST /v1/catalogs/7/start",
                    "POST /v1/catalogs/7/interrupt", "GET /v1/catalogs/7/assets",
                    "GET /v1/catalogs/7/files", "POST /v1/leases", "POST /v1/reports",
                    "POST /v1/heartbeats", "POST /v1/segments", "POST /v1/splits",
                    "POST /v1/checksums/turns", "GET /v1/checksums", "POST /v1/sites/volumes",
                    "POST /v1/purges",
                    "GET /readyz",
                ])
            #expect(log.all[4].queryValue("after") == "5")
            #expect(log.all[4].queryValue("state") == "failed")
            #expect(log.all[5].queryValue("after") == "a/b&c=d é")
            #expect(log.all[12].queryValue("directory") == "h/ü x")
            #expect(log.all[12].queryValue("after") == nil)
        }
    }

    @Test("bodies arrive whole and with the token")
    func bodies() async throws {
        let assets = (0..<2_000).map { number in
            AssetSubmission(name: "a\(number)", url: "http://o/\(number)", kind: .file, key: "o/x")
        }
        try await withCoordinator(token: .test) { request in
            let batch = try? WireFormat.rows.decode(AssetBatch.self, from: request.body)
            return batch?.assets == assets ? json([String: String]()) : .text(500, "")
        } _: { client, log in
            try await client.submit(AssetBatch(generation: 1, assets: assets), to: CatalogID(1))
            let request = try #require(log.all.first)
            #expect(request.header("Authorization") == "Bearer \(AccessToken.test.text)")
            #expect(request.header("Content-Type") == "application/vnd.dray.rows")
            #expect(request.header("Expect") == nil)
        }
    }

    @Test("a rejection keeps its code and message")
    func rejections() async throws {
        let said = Failure("input.duplicate", "the name is taken")
        try await withCoordinator { request in
            request.path == "/v1/status"
                ? json(status: 409, ErrorAnswer(said, status: 409)) : .text(401, "no")
        } _: { client, _ in
            let first = await failure { _ = try await client.clusterStatus() }
            #expect(first == said)
            let refused = await failure { try await client.readiness() }
            #expect(refused?.code == "cluster.unauthorized")
        }
    }

    @Test(
        "answers of servers that are no coordinator",
        arguments: [
            (200, "cluster.protocol"), (302, "cluster.protocol"), (404, "cluster.protocol"),
            (413, "input.tooLarge"), (500, "cluster.protocol"), (429, "cluster.rateLimited"),
            (502, "cluster.coordinatorUnreachable"), (503, "cluster.coordinatorUnreachable"),
        ])
    func strangers(status: Int, code: String) async throws {
        try await withCoordinator { _ in
            .text(status, "<html>secret</html>")
        } _: { client, _ in
            let failure = await failure { _ = try await client.clusterStatus() }
            #expect(failure?.code == FailureCode(code))
            #expect(failure?.message.contains("secret") == false)
            if code == "cluster.protocol", status != 200 {
                #expect(failure?.message.hasPrefix("http://127.0.0.1:") == true)
            }
        }
    }

    @Test("cancelling the task ends a long poll", .timeLimit(.minutes(1)))
    func cancellation() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/v1/leases", FaultOrigin.Response().held(at: gate))
        let client = try CoordinatorClient(endpoints: origin.url())
        let task = Task {
            await failure {
                _ = try await client.lease(
                    LeaseRequest(worker: "w", queues: [], maxJobs: 1, waitMilliseconds: 30_000))
            }
        }
        try await gate.waitUntilReached()
        task.cancel()
        #expect(await task.value?.code == "worker.cancelled")
        let late = Task {
            await failure { try await client.readiness(retrySeconds: 30) }
        }
        late.cancel()
        _ = await late.value
        gate.open()
        client.shutdown()
        let after = await failure { try await client.readiness(retrySeconds: 0) }
        #expect(after?.code == "worker.cancelled")
    }

    @Test("an answer is bounded", .timeLimit(.minutes(1)))
    func boundedAnswer() async throws {
        let origin = try FaultOrigin()
        origin.route("/v1/status", .endless())
        let client = try CoordinatorClient(endpoints: origin.url(), retrySeconds: 0)
        let failure = await failure { _ = try await client.clusterStatus() }
        #expect(failure?.code == "cluster.protocol")
        client.shutdown()
    }

    @Test("a coordinator that does not answer", .timeLimit(.minutes(1)))
    func timeout() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/readyz", FaultOrigin.Response().held(at: gate))
        let client = try CoordinatorClient(
            endpoints: origin.url(), retrySeconds: 0, timeoutSeconds: 0.1)
        let failure = await failure { try await client.readiness() }
        #expect(failure?.code == "cluster.coordinatorUnreachable")
        gate.open()
        client.shutdown()
    }

    @Test(
        "endpoints that cannot be used",
        arguments: ["", ",", "ftp://h", "host:8080", "http://h/?x=1", "http://h\r\n/", "http://"])
    func badEndpoints(text: String) {
        #expect(throws: Failure.self) { try CoordinatorClient(endpoints: text) }
    }

    @Test("many requests at once", .timeLimit(.minutes(1)))
    func concurrency() async throws {
        try await withCoordinator { request in
            json(ChecksumPage(entries: [], next: request.queryValue("after")))
        } _: { client, _ in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let page = try await client.checksums(
                            site: SiteID(1), directory: "d", after: "\(number)")
                        return page.next == "\(number)"
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }
}
