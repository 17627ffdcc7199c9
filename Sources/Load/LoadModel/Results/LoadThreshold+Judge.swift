import Statistics

extension LoadThreshold {
    /// Evaluates the threshold for a measured time; it does not hold if nothing was measured.
    ///
    /// - Parameter breakdown: the groups, known at the end of a test; without them, a threshold of
    ///   a group has no value.
    package func judge(
        _ total: LoadInterval, measuredSeconds: Double, breakdown: LoadBreakdown? = nil
    ) -> LoadVerdict {
        let measured: Double?
        if let group {
            measured = breakdown?.groups[group.dimension]?[group.name].flatMap {
                figure.value(in: $0, measuredSeconds: measuredSeconds)
            }
        } else {
            measured = figure.value(in: total, measuredSeconds: measuredSeconds)
        }
        return LoadVerdict(
            threshold: self, measured: measured, holds: measured.map(holds) ?? false)
    }

    private func holds(_ measured: Double) -> Bool {
        switch comparison {
        case .less: measured < value
        case .atMost: measured <= value
        case .more: measured > value
        case .atLeast: measured >= value
        }
    }
}

extension LoadFigure {
    /// Returns the value in the figure's unit; nil if nothing was measured for it.
    package func value(in total: LoadInterval, measuredSeconds: Double) -> Double? {
        let counts = total.counts
        return switch self {
        case .quantile(let metric, let quantile):
            total[metric].flatMap { $0.isEmpty ? nil : Double($0.value(quantile: quantile)) }
        case .mean(let metric): total[metric].flatMap { $0.isEmpty ? nil : $0.mean }
        case .maximum(let metric): total[metric]?.maximum.map { Double($0) }
        case .errorRate:
            Self.ratio(Double(counts.requests.failed), of: Double(counts.requests.ended))
        case .requestRate: Self.ratio(Double(counts.succeededInTime), of: measuredSeconds)
        case .throughput: Self.ratio(Double(counts.bytesInTime) * 8, of: measuredSeconds)
        case .rebufferRatio:
            Self.ratio(
                counts.playback.stalledSeconds,
                of: counts.playback.stalledSeconds + counts.playback.playedSeconds)
        case .lateSegmentRatio:
            Self.ratio(Double(counts.playback.lateSegments), of: Double(counts.playback.segments))
        case .failedViewerRatio:
            Self.ratio(Double(counts.viewers.failed), of: Double(counts.viewers.ended))
        case .lateSendRatio:
            Self.ratio(Double(counts.pacing.lateSends), of: Double(counts.requests.sent))
        case .missedSendRatio:
            Self.ratio(
                Double(counts.pacing.missedSends),
                of: Double(counts.requests.sent + counts.pacing.missedSends))
        }
    }

    private static func ratio(_ part: Double, of whole: Double) -> Double? {
        whole > 0 ? part / whole : nil
    }
}
