import API
import CoordinatorClient
import Model
import Storage
import TestSupport
import Testing

@testable import Worker

/// Files of at most 1 MiB whose transfers are stopped in the middle.
@Suite struct ShortFileResumeTests {
    typealias C = Cluster
    private static let body = sampleBytes(512 << 10)
    private static let path = "/files/part.ts"
    private static let received = 200_000

    /// Holds the file's first answer in its middle.
    private static func hold(_ cluster: C) -> Gate {
        let gate = Gate()
        cluster.origin.route(path) { request in
            let answer = request.serve(body, etag: "\"v1\"")
            return request.number == 1 ? answer.held(after: received, at: gate) : answer
        }
        return gate
    }

    private static func arrive(at worker: WorkerService, _ gate: Gate) async throws {
        try await gate.waitUntilReached()
        try await waitUntil(deadlineSeconds: 60, "the bytes before the gate") {
            worker.core.held.progress().byAsset.values.contains { $0.receivedBytes >= received }
        }
    }

    /// No byte was sent twice.
    private static func check(_ cluster: C) {
        let ranges = cluster.origin.requests.map { $0.headers["range"] }
        #expect(ranges == [nil, "bytes=\(received)-"])
    }

    @Test func anotherWorkerResumesAfterADrain() async throws {
        try await C.with(workers: 0) { cluster in
            let gate = Self.hold(cluster)
            defer { gate.open() }
            let first = try cluster.startWorker(drainSeconds: 0)
            let catalog = try await cluster.submit([try cluster.file(Self.path)])
            try await Self.arrive(at: first.service, gate)
            try await first.drain()
            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            Self.check(cluster)
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// A private cluster stops its workers before it interrupts its catalog.
    @Test func whatADrainKeptIsShownOfAnInterruptedFile() async throws {
        try await C.with(workers: 0) { cluster in
            let gate = Self.hold(cluster)
            defer { gate.open() }
            let worker = try cluster.startWorker(drainSeconds: 0)
            let catalog = try await cluster.submit([try cluster.file(Self.path)])
            try await Self.arrive(at: worker.service, gate)
            try await waitUntil(deadlineSeconds: 60, "the heartbeat that reports them") {
                try await cluster.client.status(of: catalog).totals.receivingBytes
                    >= Int64(Self.received)
            }
            try await worker.drain()
            try await cluster.client.interrupt(catalog)
            let status = try await cluster.client.status(of: catalog)
            #expect(status.state == .interrupted)
            #expect(status.totals.receivingBytes >= Int64(Self.received))
            let listing = try await cluster.client.assets(AssetQuery(CatalogReference(catalog)))
            #expect(listing.assets.map(\.bytes) == [status.totals.receivingBytes])
        }
    }

    @Test func aPausedFileContinuesAtItsByte() async throws {
        try await C.with { cluster in
            let gate = Self.hold(cluster)
            defer { gate.open() }
            let catalog = try await cluster.submit([try cluster.file(Self.path)])
            let worker = try #require(cluster.runningWorkers.first)
            try await Self.arrive(at: worker.service, gate)
            for action in [SelectionAction.Action.pause, .resume] {
                _ = try await cluster.client.apply(
                    SelectionAction(action, catalog: CatalogReference(catalog)))
                guard action == .pause else { continue }
                try await waitUntil(deadlineSeconds: 60, "the end of the transfer") {
                    try await cluster.client.clusterStatus().queues.first?.leased == 0
                }
            }
            let ended = try await cluster.end(of: catalog)
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            Self.check(cluster)
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// The spool keeps what has arrived for a worker that uses it afterwards.
    @Test(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs), arguments: S3Server.installed)
    func aFileOfABucketIsResumedFromTheSpool(_ kind: S3Server.Kind) async throws {
        let site = try await S3Server.shared(kind).url("short-\(UInt32.random(in: 0...9_999))")
        let spool = try TemporaryDirectory("spool")
        try await C.with(workers: 0) { cluster in
            let gate = Self.hold(cluster)
            defer { gate.open() }
            var configuration = cluster.configuration()
            configuration.buckets = .init(spool: spool.path, environment: S3Server.environment)
            configuration.drainSeconds = 0
            let first = try cluster.startWorker(configuration)
            let catalog = try await cluster.submit([try cluster.file(Self.path)], to: site)
            try await Self.arrive(at: first.service, gate)
            try await first.drain()
            try cluster.startWorker(configuration)
            let ended = try await cluster.end(of: catalog)
            #expect(ended[Self.path]?.state == .completed)
            #expect(ended[Self.path]?.bytes == Int64(Self.body.count))
            Self.check(cluster)
        }
    }
}
