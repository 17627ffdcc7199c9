import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

/// A site without space: its jobs wait, and resume by themselves.
@Suite(.timeLimit(.minutes(5))) struct SiteSpaceTests {
    typealias C = Cluster

    /// Names the site, which its first catalog has made known.
    private func set(
        _ cluster: C, floor: Int64? = nil, quota: Int64? = nil, resumes: Bool? = nil
    ) async throws {
        var settings = SiteSettings(site: "file://\(cluster.edge.path)")
        settings.floorBytes = floor
        settings.quotaBytes = quota
        settings.resumes = resumes
        _ = try await cluster.client.configure(settings)
    }

    private func site(_ cluster: C) async throws -> SiteStatus {
        try #require(try await cluster.client.sites().sites.first)
    }

    /// A site that is known, with files of an origin that are to come.
    private func prepare(_ cluster: C, files: Int = 20) async throws -> [AssetSubmission] {
        cluster.origin.serve("/first", [1])
        let first = try await cluster.run([try cluster.file("/first")], catalog: "first")
        #expect(first["/first"]?.state == .completed)
        return try (0..<files).map { number in
            cluster.origin.serve("/d/\(number)", sampleBytes(2_000, seed: UInt64(number)))
            return try cluster.file("/d/\(number)")
        }
    }

    @Test func belowTheFloorNothingIsFetchedAndAfterwardsEverything() async throws {
        try await C.with(workers: 2) { cluster in
            let assets = try await prepare(cluster)
            try await set(cluster, floor: 1 << 60)
            let catalog = try await cluster.submit(assets)
            try await waitUntil(deadlineSeconds: 60, "the fault") {
                try await site(cluster).fault?.code == "storage.full"
            }
            let status = try await cluster.client.status(of: catalog)
            #expect(status.issue?.code == "storage.full" && status.state == .running)
            #expect(status.totals.bytes == 0)
            #expect(try cluster.storedPaths() == ["/first"])
            try await set(cluster, floor: 0)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 150)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.failure == nil })
            try await waitUntil(deadlineSeconds: 60, "the end of the fault") {
                try await site(cluster).fault == nil
            }
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// The tries are the workers' own: their jobs fail before any request.
    @Test func theOriginIsNotAskedWhileTheSiteIsTried() async throws {
        try await C.with { cluster in
            let assets = try await prepare(cluster)
            try await set(cluster, floor: 1 << 60)
            let catalog = try await cluster.submit(assets)
            try await waitUntil(deadlineSeconds: 60, "the fault") {
                guard try await site(cluster).fault != nil else { return false }
                return try await cluster.client.queues().queues[0].leased == 0
            }
            let asked = cluster.origin.requests.count
            let retries = try await cluster.client.status(of: catalog).totals.retries
            try await waitUntil(deadlineSeconds: 120, "two tries") {
                try await cluster.client.status(of: catalog).totals.retries >= retries + 40
            }
            #expect(cluster.origin.requests.count == asked)
        }
    }

    /// Nothing is left that would try the site: a worker probes it all the same.
    @Test func aFaultEndsWithoutJobs() async throws {
        try await C.with { cluster in
            let assets = try await prepare(cluster)
            try await set(cluster, floor: 1 << 60)
            let catalog = try await cluster.submit(assets)
            try await waitUntil(deadlineSeconds: 60, "the fault") {
                try await site(cluster).fault?.code == "storage.full"
            }
            _ = try await cluster.client.interrupt(catalog)
            try await waitUntil(deadlineSeconds: 60, "the end of its work") {
                try await cluster.client.queues().queues[0].leased == 0
            }
            let asked = cluster.origin.requests.count
            // As after a long time.
            let letTimePass = """
                UPDATE site SET fault_probe_at = now() - interval '1 minute',
                    fault_retry_at = CASE WHEN fault_retry_at IS NOT NULL THEN now() END
                """
            try await waitUntil(deadlineSeconds: 60, "a probe") {
                try await cluster.execute(letTimePass + " WHERE fault_probed_by = '{}'")
                return try await cluster.execute(
                    "SELECT cardinality(fault_probed_by) FROM site"
                ) == "1\n"
            }
            #expect(try await site(cluster).fault?.code == "storage.full")
            try await set(cluster, floor: 0)
            try await waitUntil(deadlineSeconds: 60, "the end of the fault") {
                try await cluster.execute(letTimePass)
                return try await site(cluster).fault == nil
            }
            #expect(cluster.origin.requests.count == asked)
            #expect(try cluster.storedPaths() == ["/first"])
        }
    }

    @Test func resumeContinuesItAtOnce() async throws {
        try await C.with { cluster in
            let assets = try await prepare(cluster)
            try await set(cluster, floor: 1 << 60)
            let catalog = try await cluster.submit(assets)
            try await waitUntil(deadlineSeconds: 60, "the fault") {
                try await site(cluster).fault != nil
            }
            try await set(cluster, floor: 0, resumes: true)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 150)
            #expect(ended.values.allSatisfy { $0.state == .completed })
        }
    }

    @Test func aFileThatDoesNotFitWaitsAndOthersContinue() async throws {
        try await C.with { cluster in
            let others = try await prepare(cluster)
            try await set(cluster, quota: 1 << 20)
            cluster.origin.serve("/long", sampleBytes(2 << 20))
            cluster.origin.serve("/unsaid", sampleBytes(2 << 20))
            let catalog = try await cluster.submit(
                others + [
                    try cluster.file("/long", bytes: 2 << 20), try cluster.file("/unsaid"),
                ])
            try await waitUntil(deadlineSeconds: 60, "all that fits") {
                try await cluster.client.status(of: catalog).issue?.code == "storage.noRoom"
            }
            let status = try await cluster.client.status(of: catalog)
            #expect(status.totals.completed == others.count && status.totals.failed == 0)
            #expect(try await site(cluster).fault == nil)
            #expect(!cluster.origin.requests.contains { $0.target == "/long" })
            try await set(cluster, quota: 1 << 30)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 150)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.failure == nil })
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// A chunked body of unknown length.
    private static func chunked(_ bodies: [[UInt8]], gate: Gate? = nil) -> FaultOrigin.Response {
        var response = FaultOrigin.Response(headers: [("Transfer-Encoding", "chunked")])
        response.steps = bodies.flatMap { body -> [FaultOrigin.Step] in
            let size = Array("\(String(body.count, radix: 16))\r\n".utf8)
            return [.send(size + body + Array("\r\n".utf8))] + (gate.map { [.wait($0)] } ?? [])
        }
        response.steps += [.send(Array("0\r\n\r\n".utf8)), .close]
        return response
    }

    @Test func aBodyOfUnknownLengthEndsWhereTheQuotaDoes() async throws {
        try await C.with { cluster in
            let others = try await prepare(cluster)
            try await set(cluster, quota: 1 << 20)
            let body = sampleBytes(3 << 20)
            cluster.origin.route("/grows", Self.chunked([body]))
            let catalog = try await cluster.submit(others + [try cluster.file("/grows")])
            try await waitUntil(deadlineSeconds: 60, "all that fits") {
                try await cluster.client.status(of: catalog).issue?.code == "storage.outgrown"
            }
            let status = try await cluster.client.status(of: catalog)
            #expect(status.totals.completed == others.count && status.totals.failed == 0)
            #expect(try await site(cluster).fault == nil)
            #expect(try cluster.temporaryFiles().isEmpty)
            try await set(cluster, quota: 1 << 30)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 150)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.failure == nil })
            #expect(cluster.stored("/grows") == body)
        }
    }

    @Test func whatHasComeOfABodyOfUnknownLengthIsNotLeftToTheNextOne() async throws {
        try await C.with { cluster in
            _ = try await prepare(cluster, files: 0)
            try await set(cluster, quota: 1 << 20)
            let (half, gate) = (sampleBytes(600 << 10), Gate())
            defer { gate.open() }
            cluster.origin.route("/grows", Self.chunked([half], gate: gate))
            cluster.origin.serve("/next", sampleBytes(600 << 10))
            let first = try await cluster.submit([try cluster.file("/grows")], catalog: "grows")
            try await waitUntil(deadlineSeconds: 60, "what comes of it") {
                let received = cluster.runningWorkers[0].service.core.held.progress().byAsset
                return received.values.contains { $0.receivedBytes == half.count }
            }
            let next = try await cluster.submit([try cluster.file("/next")], catalog: "next")
            try await waitUntil(deadlineSeconds: 60, "the wait for room") {
                try await cluster.client.status(of: next).issue?.code == "storage.noRoom"
            }
            #expect(cluster.stored("/next") == nil)
            gate.open()
            #expect(try await cluster.end(of: first)["/grows"]?.state == .completed)
        }
    }

    /// With space for one of them, both would stop forever if each used what it needs.
    @Test func ofFilesInPartsThatDoNotFitTogetherOneWaits() async throws {
        try await C.with(partBytes: 1 << 20) { cluster in
            _ = try await prepare(cluster, files: 0)
            try await set(cluster, quota: 10 << 20)
            let paths = ["/large/a", "/large/b", "/large/c"]
            for path in paths { cluster.origin.serve(path, sampleBytes(6 << 20), etag: "\"v1\"") }
            let catalog = try await cluster.submit(try paths.map { try cluster.file($0) })
            try await waitUntil(deadlineSeconds: 60, "the one that fits") {
                let status = try await cluster.client.status(of: catalog)
                return status.totals.completed == 1 && status.issue?.code == "storage.noRoom"
            }
            #expect(try await site(cluster).usedBytes ?? .max < 10 << 20)
            // What waits has taken nothing.
            #expect(try cluster.storedPaths().count == 2)
            #expect(try cluster.temporaryFiles().isEmpty)
            try await set(cluster, quota: 1 << 30)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 150)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.failure == nil })
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// Ten million files that are too long are not tried each minute.
    @Test func aSiteWithoutSpaceForAnyFileIsPaused() async throws {
        try await C.with { cluster in
            _ = try await prepare(cluster, files: 0)
            try await set(cluster, quota: 1 << 20)
            let count = SiteTable.maxRefused + 50
            let catalog = try await cluster.submit(
                try (0..<count).map { try cluster.file("/long/\($0)", bytes: 2 << 20) })
            try await waitUntil(deadlineSeconds: 60, "the pause") {
                try await site(cluster).fault?.code == "storage.quota"
            }
            #expect(try await cluster.client.status(of: catalog).totals.failed == 0)
            #expect(cluster.origin.requests.map(\.target) == ["/first"])
        }
    }

    @Test func aFileLongerThanTheFileSystemFailsAndTheOriginIsNotAsked() async throws {
        try await C.with { cluster in
            cluster.origin.serve("/huge", [1, 2, 3])
            let ended = try await cluster.run([try cluster.file("/huge", bytes: 16 << 40)])
            #expect(ended["/huge"]?.failure?.code == "storage.tooLarge")
            #expect(cluster.origin.requests.isEmpty)
        }
    }

    @Test func aQuotaHoldsWhatIsToComeUntilItIsRaised() async throws {
        try await C.with { cluster in
            let assets = try await prepare(cluster)
            try await set(cluster, quota: 1)
            try await waitUntil(deadlineSeconds: 60, "the fault") {
                try await site(cluster).fault?.code == "storage.quota"
            }
            let catalog = try await cluster.submit(assets)
            #expect(try await cluster.client.status(of: catalog).issue?.code == "storage.quota")
            try await set(cluster, quota: 1 << 30)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 150)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.retries == 0 })
        }
    }
}
