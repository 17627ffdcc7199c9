import Digest
package import Model
package import Services
import Storage
import Synchronization
package import Transfer
package import WebURL

/// One `dray fetch`: transfers by the workers' engine, their progress and report.
///
/// It is a service, so that a signal ends it in order: written bytes are kept if another run can
/// resume from them, or else removed.
package final class FetchSession: DrainableService {
    package let name = "fetch"

    package struct Plan: Sendable {
        package var url: WebURL
        package var output: FetchOutput
        package var expectedSHA256: String?
        /// Maximum number of connections; more than 1 fetches a large file in parts.
        package var connections: Int
        /// Maximum number of retries per request; nil for the maximum of its failure's row.
        package var retries: Int?
        /// True to print a message before a retry.
        package var tellsRetries = true
        package var engine: TransferEngine.Options
        /// The progress line; nil for none.
        package var progress: FetchProgress?

        package init(
            url: WebURL,
            output: FetchOutput,
            expectedSHA256: String? = nil,
            connections: Int,
            retries: Int? = nil,
            tellsRetries: Bool = true,
            engine: TransferEngine.Options,
            progress: FetchProgress? = nil
        ) {
            self.url = url
            self.output = output
            self.expectedSHA256 = expectedSHA256
            self.connections = connections
            self.retries = retries
            self.tellsRetries = tellsRetries
            self.engine = engine
            self.progress = progress
        }
    }

    struct State {
        /// The last transfer of each request.
        var transfers: [Int: Transfer] = [:]
        var nextRequest = 0
        var firstFailure: Failure?
        /// Set while the file is fetched in parts.
        var large: LargeObject?
        var retries = 0
        var report: FetchReport?
    }

    let plan: Plan
    let state = Mutex(State())
    let draining = ShutdownSignal()
    let engine: TransferEngine
    let delays: RetryDelays
    static let group = "fetch"
    static let partSize = PartSize.connections

    /// - Parameter delays: between the attempts at a request, by default those of jobs.
    package init(_ plan: Plan, delays: RetryDelays = RetryDelays(Backoff())) throws(Failure) {
        self.plan = plan
        self.delays = delays
        engine = try TransferEngine(options: plan.engine)
    }

    /// The result; nil before the end.
    package var report: FetchReport? { state.withLock { $0.report } }

    package func drain() async {
        draining.trigger()
        plan.output.stop()
        engine.cancelAll(group: Self.group)
    }

    package func stop() async { engine.shutdown() }

    package func run() async throws {
        let began = ContinuousClock.now
        let progress = Task { await self.showProgress(since: began) }
        var report = FetchReport(
            url: redacted(url: plan.url.text), file: plan.output.path)
        do throws(Failure) {
            try await fetchWhole(into: &report)
            report.seconds = (ContinuousClock.now - began) / .seconds(1)
            try plan.output.keep()
        } catch {
            let kept = plan.output.abandon()
            report.keptBytes = kept > 0 ? kept : nil
            report.failure = error
            report.seconds = (ContinuousClock.now - began) / .seconds(1)
        }
        progress.cancel()
        await progress.value
        report.retries = state.withLock { $0.retries }
        let fetched = report.bytes - (report.resumedBytes ?? 0)
        if report.seconds > 0 { report.bytesPerSecond = Double(fetched) / report.seconds }
        state.withLock { $0.report = report }
    }

    // MARK: The file

    /// Fetches the file; retries from its start if its parts did not match.
    private func fetchWhole(into report: inout FetchReport) async throws(Failure) {
        var attempt = 1
        var takesParts = plan.connections > 1 && plan.output.takesParts
        while true {
            do throws(Failure) {
                return try await fetch(
                    into: &report, from: attempt == 1 ? resume() : nil, takesParts: takesParts)
            } catch {
                let isInParts = state.withLock { $0.large != nil }
                guard isInParts, error.code.concernsWholeFile,
                    await waits(after: error, attempt: attempt, retryAfter: nil)
                else { throw error }
                attempt += 1
                if error.code.countsAgainstRanges { takesParts = false }
                state.withLock { state in
                    (state.transfers, state.firstFailure, state.large) = ([:], nil, nil)
                }
            }
        }
    }

    /// Takes the bytes that an earlier run kept.
    private func resume() -> PartialBody? {
        plan.output.kept?.take { !self.draining.isDraining }
    }

    private func fetch(
        into report: inout FetchReport, from partial: PartialBody?, takesParts: Bool
    ) async throws(Failure) {
        report.resumedBytes = partial?.record.bytes
        if let partial { plan.output.expectedBytes = partial.record.totalBytes }
        let (larges, sender) = AsyncStream.makeStream(of: LargeObject.self)
        var request = request(range: nil)
        request.expected.sha256 = plan.expectedSHA256
        request.delivery.resumption?.partial = partial
        if takesParts, partial == nil {
            request.delivery.split = TransferRequest.SplitRule(partBytes: Self.partSize.bytes) {
                large, _ in
                self.state.withLock { $0.large = large }
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
        report.finalURL = redacted(url: fetched.response.finalURL)
        report.contentType = fetched.response.contentType
        report.etag = fetched.response.etag
        report.lastModified = fetched.response.lastModified
        if let large = state.withLock({ $0.large }) {
            report.sha256 = try wholeDigest(of: large)
            report.verified = plan.expectedSHA256 != nil || !large.stated.isEmpty
        } else {
            report.sha256 = fetched.sha256
            report.verified = fetched.isVerified
        }
    }

    /// Fetches the parts after the first; returns their number.
    private func fetchRest(of large: LargeObject) async -> Int {
        let starts = Self.partSize.laterStarts(of: large.totalBytes)
        await withTaskGroup(of: Void.self) { group in
            for (index, start) in starts.enumerated() {
                if index >= plan.connections { await group.next() }
                guard firstFailure == nil else { return }
                group.addTask { _ = await self.transfer(self.request(of: large, from: start)) }
            }
        }
        return starts.count
    }

    var firstFailure: Failure? { state.withLock { $0.firstFailure } }

    private var receivedBytes: Int64 {
        state.withLock { $0.transfers.values.reduce(0) { $0 + $1.receivedBytes } }
    }

    /// Hashes a file whose parts arrived in any order: reads it again, mostly from the page cache.
    private func wholeDigest(of large: LargeObject) throws(Failure) -> String {
        var expected = large.stated
        if let digest = plan.expectedSHA256.flatMap({ ExpectedDigest(.sha256, hex: $0) }) {
            expected.append(digest)
        }
        var digests = DigestSet(expected.map(\.algorithm))
        try plan.output.readBack { digests.update($0) }
        let computed = digests.finish()
        let all = computed.others + [ExpectedDigest(computed.sha256)]
        for digest in expected {
            let given = all.first { $0.algorithm == digest.algorithm }
            guard given == digest else {
                throw Failure(
                    .integrityDigestMismatch,
                    "\(digest.algorithm.title) is \(given?.hex ?? "not available"), expected "
                        + digest.hex)
            }
        }
        return computed.sha256.description
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
                columns: LiveLines.terminalSize().columns - 1)
            FetchLine.show(line)
            isShown = true
        }
        if isShown { FetchLine.clear() }
    }
}
