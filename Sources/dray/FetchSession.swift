import Catalog
import Digest
import Glibc
import Model
import Runtime
import Synchronization
import Transfer

/// One `dray fetch`: a transfer by the workers' own engine, its progress and its report.
///
/// A service, so that a signal ends it in order: what was written of a file is taken away.
final class FetchSession: DrainableService {
    let name = "fetch"

    struct Plan: Sendable {
        var url: WebURL
        var output: FetchOutput
        var headers: [RequestHeader]
        var expectedSHA256: String?
        /// More than 1 fetches a large file in parts.
        var connections: Int
        var engine: TransferEngine.Options
        /// nil shows none.
        var progress: FetchProgress?
    }

    private struct State {
        var transfers: [Transfer] = []
        var firstFailure: Failure?
        var report: FetchReport?
    }

    private let plan: Plan
    private let state = Mutex(State())
    private let draining = ShutdownSignal()
    private let engine: TransferEngine
    private static let group = "fetch"
    /// Of a file that is fetched in parts.
    private static let partBytes: Int64 = 16 << 20

    init(_ plan: Plan) throws(Failure) {
        self.plan = plan
        engine = try TransferEngine(options: plan.engine)
    }

    /// What became of it; nil before the end.
    var report: FetchReport? { state.withLock { $0.report } }

    func drain() async {
        draining.trigger()
        plan.output.stop()
        engine.cancelAll(group: Self.group)
    }

    func stop() async { engine.shutdown() }

    func run() async throws {
        let began = ContinuousClock.now
        let progress = Task { await self.showProgress(since: began) }
        var report = FetchReport(
            url: redacted(url: plan.url.text), file: plan.output.path)
        do throws(Failure) {
            try await fetch(into: &report)
            report.seconds = (ContinuousClock.now - began) / .seconds(1)
            try plan.output.keep()
        } catch {
            plan.output.abandon()
            report.failure = error
            report.seconds = (ContinuousClock.now - began) / .seconds(1)
        }
        progress.cancel()
        await progress.value
        if report.seconds > 0 { report.bytesPerSecond = Double(report.bytes) / report.seconds }
        state.withLock { $0.report = report }
    }

    // MARK: Transfers

    private func fetch(into report: inout FetchReport) async throws(Failure) {
        let (larges, sender) = AsyncStream.makeStream(of: LargeObject.self)
        var request = request(range: nil)
        request.expectedSHA256 = plan.expectedSHA256
        if plan.connections > 1, plan.output.takesParts {
            request.splitAbove = Self.partBytes
            request.onLarge = { large, _ in
                sender.yield(large)
                return nil
            }
        }
        let whole = request
        async let first = transfer(whole) { sender.finish() }
        var rest = 0
        for await large in larges {
            plan.output.expectedBytes = large.totalBytes
            rest = await fetchRest(of: large)
        }
        let result = await first
        report.status = result.httpStatus
        report.httpVersion = result.httpVersion
        report.connectSeconds = result.connectSeconds
        report.firstByteSeconds = result.firstByteSeconds
        report.bytes = receivedBytes
        let fetched: Fetched
        switch result.outcome {
        case .success(let value): fetched = value
        case .failure(let failure): throw firstFailure ?? failure
        }
        if let firstFailure { throw firstFailure }
        report.parts = 1 + rest
        report.finalURL = redacted(url: fetched.finalURL)
        report.contentType = fetched.contentType
        report.etag = fetched.etag
        report.lastModified = fetched.lastModified
        report.sha256 = fetched.isFirstPart ? try wholeDigest() : fetched.sha256
        report.verified = plan.expectedSHA256 != nil
    }

    /// Fetches the parts behind the first; answers their number.
    private func fetchRest(of large: LargeObject) async -> Int {
        let starts = Array(
            stride(from: Self.partBytes, to: large.totalBytes, by: Int(Self.partBytes)))
        await withTaskGroup(of: Void.self) { group in
            for (place, start) in starts.enumerated() {
                if place >= plan.connections { await group.next() }
                guard firstFailure == nil else { return }
                group.addTask {
                    let range = TransferRequest.ByteRange(
                        offset: start, length: min(Self.partBytes, large.totalBytes - start),
                        totalBytes: large.totalBytes, validator: large.validator)
                    _ = await self.transfer(self.request(range: range))
                }
            }
        }
        return starts.count
    }

    private func request(range: TransferRequest.ByteRange?) -> TransferRequest {
        let output = plan.output
        var request = TransferRequest(
            url: plan.url.text, group: Self.group,
            destination: .sink { (bytes) throws(Failure) in
                if range == nil, output.expectedBytes == nil { output.expectedBytes = bytes }
                return output
            }, role: .file)
        request.range = range
        request.headers = plan.headers.map(\.line)
        return request
    }

    /// One transfer to its end; the first that fails ends the others.
    private func transfer(
        _ request: TransferRequest, whenEnded: @escaping @Sendable () -> Void = {}
    ) async -> TransferResult {
        let result = await withCheckedContinuation { continuation in
            let transfer = engine.submit(request) { _, result in
                whenEnded()
                continuation.resume(returning: result)
            }
            state.withLock { $0.transfers.append(transfer) }
            // While it was being submitted.
            if draining.isDraining || firstFailure != nil { engine.cancel(transfer) }
        }
        if case .failure(let failure) = result.outcome {
            let isFirst = state.withLock { state in
                defer { state.firstFailure = state.firstFailure ?? failure }
                return state.firstFailure == nil
            }
            if isFirst { engine.cancelAll(group: Self.group) }
        }
        return result
    }

    private var firstFailure: Failure? { state.withLock { $0.firstFailure } }

    private var receivedBytes: Int64 {
        state.withLock { $0.transfers.reduce(0) { $0 + $1.receivedBytes } }
    }

    /// Of a file whose parts came in any order: read once more, mostly from memory.
    private func wholeDigest() throws(Failure) -> String {
        var hasher = SHA256Hasher()
        try plan.output.readBack { hasher.update($0) }
        let digest = hasher.finish()
        if let expected = plan.expectedSHA256, SHA256Digest(hex: expected) != digest {
            throw Failure(
                "integrity.digestMismatch", "SHA-256 is \(digest), expected \(expected)")
        }
        return digest.description
    }

    // MARK: Progress

    private func showProgress(since began: ContinuousClock.Instant) async {
        guard var progress = plan.progress else { return }
        var isShown = false
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(100))
            if Task.isCancelled { break }
            let line = progress.line(
                bytes: receivedBytes, expected: plan.output.expectedBytes,
                seconds: (ContinuousClock.now - began) / .seconds(1),
                columns: ProgressDisplay.terminalSize().columns - 1)
            FetchLine.show(line)
            isShown = true
        }
        if isShown { FetchLine.clear() }
    }
}
