package import Statistics

/// A property by which requests are grouped.
package enum LoadDimension: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable {
    /// The target's name.
    case target
    /// The role of the object: `file`, `media`, `playlist`, ….
    case kind
    case rendition
    /// The pathway of content steering, or the service location.
    case pathway
    /// The HTTP status, or `none` for requests without an answer.
    case status
}

/// One group of requests, such as those with the status 503.
package struct LoadGroupKey: Sendable, Hashable {
    package var dimension: LoadDimension
    package var name: String

    package init(_ dimension: LoadDimension, _ name: String) {
        self.dimension = dimension
        self.name = name
    }
}

/// Results of one group in the measured time.
package struct LoadGroup: Sendable, Equatable {
    /// Maximum number of groups of a dimension; requests beyond are in `LoadBreakdown.others`.
    package static let most = 50

    package var requests: Int64 = 0
    package var failed: Int64 = 0
    /// Bytes of bodies, including those of failed requests.
    package var bytes: Int64 = 0
    /// Successful requests that ended before the end of the load.
    package var succeededInTime: Int64 = 0
    /// Microseconds from the planned time: of successful requests, and by status of all requests.
    package var total = PagedHistogram()
    package var firstByte = PagedHistogram()

    package init() {}

    /// Records an ended request.
    ///
    /// - Parameters:
    ///   - firstByte: nil without one.
    ///   - recordsFailures: true to record the times of a failed one too.
    package mutating func record(
        total: Int64, firstByte: Int64?, bytes: Int64, isFailure: Bool, isAfterLoad: Bool,
        recordsFailures: Bool = false
    ) {
        requests += 1
        self.bytes += bytes
        if isFailure { failed += 1 } else if !isAfterLoad { succeededInTime += 1 }
        guard !isFailure || recordsFailures else { return }
        self.total.record(total)
        if let firstByte { self.firstByte.record(firstByte) }
    }

    /// Adds the results of another process, which may contain any number; sums saturate.
    package mutating func add(_ other: LoadGroup) {
        func sum(_ one: Int64, _ other: Int64) -> Int64 {
            let (sum, isOver) = one.addingReportingOverflow(max(other, 0))
            return isOver ? .max : sum
        }
        requests = sum(requests, other.requests)
        failed = sum(failed, other.failed)
        bytes = sum(bytes, other.bytes)
        succeededInTime = sum(succeededInTime, other.succeededInTime)
        total.add(other.total)
        firstByte.add(other.firstByte)
    }
}

extension LoadGroup: Codable {
    private enum CodingKeys: CodingKey {
        case requests, failed, bytes, succeededInTime, total, firstByte
    }

    /// A histogram in V2 encoding, and the values that its bins lose.
    private struct Text: Codable {
        var histogram: String
        var exact: Histogram.Exact?

        init(_ paged: PagedHistogram) {
            let whole = Histogram(paged)
            histogram = whole.text
            exact = whole.exact
        }

        var paged: PagedHistogram {
            get throws(HistogramError) {
                var whole = try Histogram(text: histogram)
                if let exact { try whole.take(exact) }
                return PagedHistogram(whole)
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(requests, forKey: .requests)
        try container.encode(failed, forKey: .failed)
        try container.encode(bytes, forKey: .bytes)
        try container.encode(succeededInTime, forKey: .succeededInTime)
        try container.encode(Text(total), forKey: .total)
        try container.encode(Text(firstByte), forKey: .firstByte)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        requests = try container.decode(Int64.self, forKey: .requests)
        failed = try container.decode(Int64.self, forKey: .failed)
        bytes = try container.decode(Int64.self, forKey: .bytes)
        succeededInTime = try container.decode(Int64.self, forKey: .succeededInTime)
        do {
            total = try container.decode(Text.self, forKey: .total).paged
            firstByte = try container.decode(Text.self, forKey: .firstByte).paged
        } catch let error as HistogramError {
            throw DecodingError.dataCorruptedError(
                forKey: .total, in: container, debugDescription: error.detail)
        }
    }
}

extension LoadFigure {
    /// True if groups of requests have the figure.
    var isOfGroups: Bool {
        switch self {
        case .quantile(let metric, _), .mean(let metric), .maximum(let metric):
            metric == .total || metric == .firstByte
        case .errorRate, .requestRate: true
        case .throughput, .rebufferRatio, .lateSegmentRatio, .failedViewerRatio, .lateSendRatio,
            .missedSendRatio:
            false
        }
    }

    /// Returns the value of a group in the figure's unit; nil if nothing was measured for it.
    func value(in group: LoadGroup, measuredSeconds: Double) -> Double? {
        var total = LoadInterval(second: 0)
        total.counts.requests.failed = group.failed
        total.counts.requests.succeeded = group.requests - group.failed
        total.counts.afterEnd.succeeded = total.counts.requests.succeeded - group.succeededInTime
        if !group.total.isEmpty { total[.total] = Histogram(group.total) }
        if !group.firstByte.isEmpty { total[.firstByte] = Histogram(group.firstByte) }
        return value(in: total, measuredSeconds: measuredSeconds)
    }
}
