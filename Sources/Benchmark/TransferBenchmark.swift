import Dispatch
import Glibc
package import Model
import Runtime
package import Storage
import Synchronization
package import Transfer

/// `dray benchmark transfer`: the transfer engine alone, from a list of objects to a directory.
///
/// Everything that a worker does with an object is done: it is received, hashed, written, made durable
/// in batches and put under its final key. There is no queue, no coordinator and no report. A service for
/// a `ServiceGroup`.
package final class TransferBenchmark: Service {
    package let name = "benchmark"

    package struct Object: Sendable {
        package var url: String
        package var key: String

        package init(url: String, key: String) {
            self.url = url
            self.key = key
        }
    }

    private let objects: [Object]
    private let storage: DirectoryStorage
    private let engine: TransferEngine
    private let connections: Int
    private let found = Mutex<TransferBenchmarkReport?>(nil)

    /// - Parameter options: of the engine; `shutdown` is called by `stop`.
    package init(
        _ objects: [Object], to storage: DirectoryStorage, options: TransferEngine.Options
    ) throws(Failure) {
        self.objects = objects
        self.storage = storage
        connections = options.connections
        engine = try TransferEngine(options: options)
    }

    /// What was found; nil when it did not come to its end.
    package var report: TransferBenchmarkReport? { found.withLock { $0 } }

    package func run() async throws {
        let commits = Commits(storage: storage, expected: objects.count)
        let cpu = ProcessUsage.ownCPUSeconds
        let start = ContinuousClock.now
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                commits.begin(continuation)
                for first in stride(from: 0, to: objects.count, by: Self.batch) {
                    submit(first..<min(first + Self.batch, objects.count), commits)
                }
            }
        } onCancel: {
            engine.cancelAll(group: Self.group)
        }
        try Task.checkCancellation()
        let seconds = start.duration(to: .now).inSeconds
        let totals = commits.totals
        found.withLock {
            $0 = TransferBenchmarkReport(
                objects: objects.count, failed: totals.failed, failure: totals.firstFailure,
                bytes: totals.bytes, connections: connections, seconds: seconds,
                cpuSeconds: ProcessUsage.ownCPUSeconds - cpu,
                peakResidentBytes: ProcessUsage.peakResidentBytes(of: getpid()))
        }
    }

    package func stop() async { engine.shutdown() }

    /// As many as a lease holds.
    private static let batch = 1_000
    private static let group = "00000000-0000-4000-8000-000000000000"

    private func submit(_ range: Range<Int>, _ commits: Commits) {
        let requests = range.map { index in
            let object = objects[index]
            let storage = storage
            return TransferRequest(
                url: object.url, group: Self.group,
                destination: .object { (bytes) throws(Failure) in
                    try storage.createTemporary(
                        lease: Self.group, job: JobID(Int64(index) + 1), key: object.key,
                        reservingBytes: bytes ?? 0)
                }, role: .file)
        }
        engine.submit(requests) { _, result in commits.add(result) }
    }
}

/// Puts what was fetched under its key, batch after batch: what comes in during one is the next.
private final class Commits: Sendable {
    struct Totals: Sendable {
        var ended = 0
        var failed = 0
        var firstFailure: Failure?
        var bytes: Int64 = 0
    }

    private struct State {
        var waiting: [Fetched] = []
        var isBusy = false
        var totals = Totals()
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let storage: DirectoryStorage
    private let expected: Int
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "dray.storage")

    init(storage: DirectoryStorage, expected: Int) {
        self.storage = storage
        self.expected = expected
    }

    var totals: Totals { state.withLock { $0.totals } }

    func begin(_ continuation: CheckedContinuation<Void, Never>) {
        guard expected > 0 else { return continuation.resume() }
        state.withLock { $0.continuation = continuation }
    }

    /// Takes a transfer's result from its loop's thread.
    func add(_ result: TransferResult) {
        switch result.outcome {
        case .failure(let failure): end([.failure(failure)])
        case .success(let fetched):
            let isIdle = state.withLock { state in
                state.waiting.append(fetched)
                defer { state.isBusy = true }
                return !state.isBusy
            }
            if isIdle { queue.async { self.commitAll() } }
        }
    }

    private func commitAll() {
        while true {
            let batch = state.withLock { state in
                defer { state.waiting = [] }
                state.isBusy = !state.waiting.isEmpty
                return state.waiting
            }
            guard !batch.isEmpty else { return }
            let results = storage.commit(batch.compactMap(\.object))
            end(zip(batch, results).map { fetched, result in result.map { fetched.bytes } })
        }
    }

    private func end(_ results: [Result<Int64, Failure>]) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
            for result in results {
                state.totals.ended += 1
                switch result {
                case .success(let bytes): state.totals.bytes += bytes
                case .failure(let failure):
                    state.totals.failed += 1
                    if state.totals.firstFailure == nil { state.totals.firstFailure = failure }
                }
            }
            guard state.totals.ended == expected else { return nil }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume()
    }
}

/// What the transfer engine took.
package struct TransferBenchmarkReport: BenchmarkReport {
    package var objects: Int
    /// Objects that did not arrive.
    package var failed: Int
    /// The first failure of these.
    package var failure: Failure?
    package var bytes: Int64
    package var connections: Int
    /// From the first request to the last object under its final key.
    package var seconds: Double
    package var cpuSeconds: Double
    package var peakResidentBytes: Int64

    private enum CodingKeys: String, CodingKey {
        case objects, failed, failure, bytes, connections, seconds, cpuSeconds
        case peakResidentBytes, objectsPerSecond, bytesPerSecond, cpuSecondsPerGigabyte
        case cpuSecondsPer10000Objects
    }

    private func share(_ value: Double, of whole: Double) -> Double {
        whole > 0 ? value / whole : 0
    }

    private var cpuPerGigabyte: Double { share(cpuSeconds, of: Double(bytes) / 1e9) }
    private var cpuPer10000: Double { share(cpuSeconds, of: Double(objects) / 10_000) }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(objects, forKey: .objects)
        try values.encode(failed, forKey: .failed)
        try values.encodeIfPresent(failure?.description, forKey: .failure)
        try values.encode(bytes, forKey: .bytes)
        try values.encode(connections, forKey: .connections)
        try values.encode(seconds.rounded(places: 4), forKey: .seconds)
        try values.encode(cpuSeconds.rounded(places: 4), forKey: .cpuSeconds)
        try values.encode(peakResidentBytes, forKey: .peakResidentBytes)
        try values.encode(
            share(Double(objects), of: seconds).rounded(places: 1), forKey: .objectsPerSecond)
        try values.encode(
            share(Double(bytes), of: seconds).wholeNumber, forKey: .bytesPerSecond)
        try values.encode(cpuPerGigabyte.rounded(places: 3), forKey: .cpuSecondsPerGigabyte)
        try values.encode(cpuPer10000.rounded(places: 3), forKey: .cpuSecondsPer10000Objects)
    }

    package var text: String {
        var rows = [
            ("objects", HumanFormat.count(objects)),
            ("bytes", HumanFormat.bytes(bytes)),
            ("seconds", HumanFormat.fixed(seconds, places: 3)),
            ("objects/s", HumanFormat.count(share(Double(objects), of: seconds).wholeNumber)),
            ("rate", HumanFormat.rate(bytesPerSecond: share(Double(bytes), of: seconds))),
            (
                "CPU",
                "\(HumanFormat.fixed(cpuSeconds, places: 2)) s: "
                    + "\(HumanFormat.fixed(cpuPerGigabyte, places: 2)) s a GB, "
                    + "\(HumanFormat.fixed(cpuPer10000, places: 2)) s for 10,000 objects"
            ),
            ("peak resident", HumanFormat.bytes(peakResidentBytes)),
        ]
        if let failure {
            rows.append(("failed", "\(HumanFormat.count(failed)), first \(failure)"))
        }
        return figures(rows)
    }
}
