import API
import Model
import Statistics
import TestSupport

/// Reports of jobs, with what workers send before them.
extension HistoryGenerator {
    /// A report, or what comes before one: segments of a title, a split.
    mutating func work(_ model: QueueModel, _ tickets: [Ticket]) -> Step? {
        let recent = tickets.suffix(24)
        let live = recent.filter { ticket in
            model.jobs.values.contains { $0.hold == ticket }
        }
        guard let ticket = (chance(0.8) ? live : Array(recent)).randomElement(using: &random)
        else { return nil }
        let worker = self.worker(of: ticket, model)
        let work = model.held(ticket, by: worker) ?? ticket.work
        if work.kind == .resolve, chance(0.6) {
            return .addSegments(worker: worker, ticket, segments(of: work))
        }
        if work.kind == .refresh, chance(0.6) {
            if chance(0.4) { return .beginRefresh(worker: worker, ticket) }
            return handIn(ticket, work, worker, model)
        }
        if work.kind == .publish, chance(0.1) { return handIn(ticket, work, worker, model) }
        if work.kind == .fetch, chance(work.offset == nil ? 0.2 : 0.05) {
            nextSplit += 1
            let parts = Int64.random(in: 2...3, using: &random)
            return .split(
                worker: worker, ticket, split: nextSplit,
                totalBytes: (parts - 1) * Step.partBytes + Int64.random(in: 1...9, using: &random))
        }
        var reported = [ticket]
        let most = chance(0.3) ? 8 : Int.random(in: 0...2, using: &random)
        // Old tickets and new ones of the same work, in one batch, in any order.
        let others =
            chance(0.85) ? recent.filter { model.leases[$0.lease]?.worker == worker } : recent
        let same = recent.filter { $0.work == ticket.work && $0 != ticket }
        reported += others.shuffled(using: &random).prefix(most)
        if chance(0.4) { reported += same.suffix(1) }
        reported.shuffle(using: &random)
        return .report(
            worker: worker,
            reported.map { WorkResult(ticket: $0, outcome: outcome(of: $0, worker, model)) })
    }

    private mutating func handIn(
        _ ticket: Ticket, _ work: Work, _ worker: Int, _ model: QueueModel
    ) -> Step? {
        guard let spec = work.asset.flatMap({ model[$0]?.segments[0]?.spec }) else { return nil }
        nextDigest += 1
        let object = StoredObject(
            bytes: Int64.random(in: 0...999, using: &random), sha256: Self.digest(nextDigest))
        return .handIn(worker: worker, ticket, spec, object, publishes: chance(0.6))
    }

    private mutating func worker(of ticket: Ticket, _ model: QueueModel) -> Int {
        guard !chance(0.05), let lease = model.leases[ticket.lease] else { return worker() }
        return lease.worker
    }

    private mutating func segments(of work: Work) -> [SegmentSpec] {
        let version = chance(0.85) ? 0 : 1
        let signature = chance(0.2) ? 0 : Int.random(in: 1...5, using: &random)
        let count = Int.random(in: 1...3, using: &random)
        let first = chance(0.2) ? 1 : 0
        let folder = (Int(work.name.dropFirst()) ?? 0) % 2
        return (first..<(first + count)).map { index in
            Self.segment(work, index, version: version, folder: folder, signature: signature)
        }
    }

    /// - Parameter signature: of its URL; 0 for none.
    static func segment(
        _ work: Work, _ index: Int, version: Int, folder: Int, signature: Int
    ) -> SegmentSpec {
        SegmentSpec(
            ordinal: index,
            url: "http://o\(index % 2).test/c\(work.catalog)/\(work.name)/v\(version)/\(index).ts"
                + (signature == 0
                    ? "" : "?\(signature > 3 ? "session" : "Signature")=\(signature)"),
            key: "c\(work.catalog)/d\(folder)/\(work.name)/\(index).ts")
    }

    private mutating func outcome(
        of ticket: Ticket, _ worker: Int, _ model: QueueModel
    ) -> WorkResult.Outcome {
        let work = model.held(ticket, by: worker) ?? ticket.work
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<62: return success(of: work, model)
        case 62..<88: return .failed(failure(of: work), retryAfter: chance(0.1) ? 600 : nil)
        case 88..<94: return .returned
        default: return .nothingStored
        }
    }

    private mutating func success(of work: Work, _ model: QueueModel) -> WorkResult.Outcome {
        switch work.kind {
        case .checksums, .purge: return .written
        case .refresh: return .refreshed(chance(0.5) ? .unchanged : .changed)
        case .publish: return .refreshed(chance(0.9) ? .changed : .unchanged)
        case .resolve:
            let sent = work.asset.flatMap { model[$0]?.segments.count } ?? 0
            return .resolved(chance(0.9) ? sent : sent + Int.random(in: -1...1, using: &random))
        case .fetch, .verify:
            nextDigest += 1
            let bytes = model.length(of: work) ?? Int64.random(in: 0...999, using: &random)
            return .stored(
                bytes: chance(0.97) ? bytes : bytes + 1, sha256: Self.digest(nextDigest),
                isReused: chance(0.2))
        }
    }

    /// Each digest is different, so that a record identifies its reporter.
    static func digest(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    private mutating func failure(of work: Work) -> FailureCode {
        // Only titles: rejections of mirrors do not count for a file's own URL.
        if [.fetch, .resolve].contains(work.kind), work.name.hasPrefix("t"), chance(0.4) {
            return "origin.http.403"
        }
        let common: [FailureCode] = [
            "origin.http.502", "origin.http.404", "storage.full", "storage.noRoom",
            "origin.http.429",
            "worker.internal",
        ]
        let own: [FailureCode] =
            switch work.kind {
            case .fetch:
                [
                    "content.changed", "manifest.changed", "content.lengthMismatch",
                    "origin.rangeMismatch", "integrity.multipartMismatch",
                ]
            case .verify: ["integrity.multipartMismatch", "integrity.digestMismatch"]
            case .resolve: ["manifest.live"]
            case .checksums, .refresh, .publish, .purge: ["storage.permission"]
            }
        return (chance(0.5) ? own : common).randomElement(using: &random) ?? "worker.internal"
    }
}
