package import LoadModel
import Statistics

/// A result as a histogram log: without a tag the latencies of each second that counts, those of the
/// warm-up with `Tag=warm_up`, and every metric's sum of all that counts with its name as the tag.
package enum LoadHistograms {
    package static func text(_ result: LoadResult) throws -> String {
        var text = HistogramLog.header(
            startSeconds: result.startedSeconds, comment: "dray loadtest, microseconds")
        for second in result.seconds {
            guard let encoded = second.totalText else { continue }
            text += HistogramLog.line(
                HistogramInterval(
                    tag: second.isMeasured ? nil : "warm_up", startSeconds: Double(second.second),
                    lengthSeconds: second.lengthSeconds, histogram: try Histogram(text: encoded)))
        }
        for metric in LoadMetric.allCases {
            guard let histogram = result.total[metric] else { continue }
            text += HistogramLog.line(
                HistogramInterval(
                    tag: metric.name, startSeconds: result.warmUpSeconds,
                    lengthSeconds: result.measuredSeconds, histogram: histogram))
        }
        return text
    }
}
