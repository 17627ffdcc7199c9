package import LoadModel
import Statistics

/// Writes a result as a histogram log. Latencies of each measured second have no tag, those of the
/// warm-up `Tag=warm_up`. The sum of each metric over the measured time has its name as tag.
package enum LoadHistograms {
    package static func text(_ result: LoadResult) throws -> String {
        var text = HdrHistogramLog.header(
            startSeconds: result.startedSeconds, comment: "dray loadtest, microseconds")
        for second in result.seconds {
            guard let encoded = second.totalText else { continue }
            text += HdrHistogramLog.line(
                HistogramInterval(
                    tag: second.isMeasured ? nil : "warm_up", startSeconds: Double(second.second),
                    lengthSeconds: second.lengthSeconds, histogram: try Histogram(text: encoded)))
        }
        for metric in LoadMetric.allCases {
            guard let histogram = result.total[metric] else { continue }
            text += HdrHistogramLog.line(
                HistogramInterval(
                    tag: metric.name, startSeconds: result.warmUpSeconds,
                    lengthSeconds: result.measuredSeconds, histogram: histogram))
        }
        return text
    }
}
