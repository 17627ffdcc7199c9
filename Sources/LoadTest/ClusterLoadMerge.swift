import FoundationEssentials
package import Model

/// Puts together what the shares of a test measured, as it comes from a cluster.
///
/// A value: used by one owner at a time. A second is closed when all shares that go on have reported it;
/// of shares that are lost or have failed counts what they reported.
package struct ClusterLoadMerge: Sendable {
    private var shares: [Share] = []
    /// Seconds that not all shares have reported.
    private var open: [Int: LoadInterval] = [:]

    private struct Share {
        var report: LoadShareReport
        /// The first second that has not come.
        var next = 0
        /// No more than `whole` seconds will come.
        var hasEnded = false
        var whole = 0

        var mayBring: Bool { !hasEnded || next < whole }
    }

    package init() {}

    /// What to ask for next: of each share the first second that has not come.
    package var after: [Int] { shares.map(\.next) }

    /// What became of each share, so far.
    package var reports: [LoadShareReport] { shares.map(\.report) }

    /// Takes an answer; answers the seconds that are whole now, in order.
    ///
    /// Throws `cluster.protocol` for seconds that cannot be read.
    package mutating func take(_ news: LoadTestNews) throws(Failure) -> [LoadInterval] {
        let numbered = news.test.shares.filter { $0.number != nil }
        while shares.count < numbered.count {
            let index = shares.count
            shares.append(
                Share(
                    report: LoadShareReport(index: index, worker: "", state: .running)))
        }
        for status in numbered { update(status) }
        for text in news.intervals {
            guard shares.indices.contains(text.share), text.second >= shares[text.share].next
            else { continue }
            let interval = try Self.interval(text)
            shares[text.share].next = text.second + 1
            shares[text.share].report.counts.add(interval.counts)
            open[text.second, default: LoadInterval(second: text.second)].add(interval)
            open[text.second]?.isMeasured = interval.isMeasured
        }
        // Of shares that have ended nothing more comes.
        let awaited = shares.filter(\.mayBring).map(\.next).min() ?? .max
        let whole = open.keys.filter { $0 < awaited }.sorted()
        return whole.compactMap { open.removeValue(forKey: $0) }
    }

    private mutating func update(_ status: LoadTestStatus.Share) {
        guard let number = status.number, shares.indices.contains(number) else { return }
        shares[number].report.worker = status.name
        shares[number].whole = status.nextSecond
        shares[number].hasEnded = LoadShareState.machine.terminal.contains(status.state)
        shares[number].report.message = status.failure.map { "\($0.code.rawValue): \($0.message)" }
        shares[number].report.state = Self.state(status.state)
        let isMissing = [.lost, .failed].contains(shares[number].report.state)
        shares[number].report.missingFromSecond = isMissing ? status.nextSecond : nil
    }

    /// What a share's state comes to in a report.
    package static func state(_ state: LoadShareState) -> LoadShareReport.State {
        switch state {
        case .finished: .finished
        case .lost: .lost
        case .failed: .failed
        case .joined, .ready, .running, .dismissed: .running
        }
    }

    private static func interval(_ text: LoadTestNews.Interval) throws(Failure) -> LoadInterval {
        do {
            let interval = try JSONDecoder().decode(LoadInterval.self, from: Data(text.data.utf8))
            guard interval.second == text.second else {
                throw Failure("cluster.protocol", "it is second \(interval.second)")
            }
            return interval
        } catch {
            throw Failure(
                "cluster.protocol",
                "Second \(text.second) of share \(text.share) cannot be read: \(error)")
        }
    }
}
