/// A text format of metrics.
package enum MetricsFormat: Sendable, CaseIterable {
    /// OpenMetrics 1.0.
    case openMetrics
    /// Prometheus's text format, version 0.0.4.
    case prometheus

    package var contentType: String {
        switch self {
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        }
    }

    /// Chooses by a request's `Accept` header (RFC 9110, 12.5.1): OpenMetrics if it is named and plain
    /// text is not preferred, as Prometheus does; else plain text, which every scraper reads.
    package init(accept: String?) {
        var plain = 0.0
        var open = 0.0
        for range in (accept ?? "").split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
            guard let type = parts.first else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
                .flatMap { Double($0.dropFirst(2)) }
            let value = quality ?? 1
            switch type {
            case "application/openmetrics-text": open = max(open, value)
            case "text/plain", "text/*": plain = max(plain, value)
            default: break
            }
        }
        self = open > 0 && open >= plain ? .openMetrics : .prometheus
    }
}
