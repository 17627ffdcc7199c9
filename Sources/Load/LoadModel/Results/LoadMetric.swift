/// A metric with a histogram.
///
/// Latencies count from the planned time of sending. Those named `Uncorrected` count from the
/// actual sending and exclude the waits that a stalled server causes.
package enum LoadMetric: Int, Sendable, CaseIterable, Hashable {
    /// Connection times of requests that opened one, from sending: name lookup, TCP and TLS.
    case connect
    case firstByte
    case firstByteUncorrected
    case total
    case totalUncorrected
    /// Times of failed requests, from sending to their end; `totalUncorrected` includes them.
    case failedUncorrected
    /// From the planned time to the sending.
    case sendDelay
    /// From a viewer's planned time to the first frame.
    case startup
    /// A stall in the middle of playback.
    case stall
    /// Figures of each viewer at its end: stalls, waiting time in millionths of waiting and
    /// playing, late segments, mean bit rate in kbit/s, and changes of rendition.
    case viewerStalls
    case viewerRebuffering
    case viewerLateSegments
    case viewerBitRate
    case viewerSwitches

    package enum Unit: Sendable {
        case microseconds
        case count
        case millionths
        case kilobitsPerSecond
    }

    /// Name in thresholds, JSON and logs.
    package var name: String {
        switch self {
        case .connect: "connect"
        case .firstByte: "first_byte"
        case .firstByteUncorrected: "first_byte_uncorrected"
        case .total: "total"
        case .totalUncorrected: "total_uncorrected"
        case .failedUncorrected: "failed_uncorrected"
        case .sendDelay: "send_delay"
        case .startup: "startup"
        case .stall: "stall"
        case .viewerStalls: "viewer_stalls"
        case .viewerRebuffering: "viewer_rebuffer_ratio"
        case .viewerLateSegments: "viewer_late_segments"
        case .viewerBitRate: "viewer_bit_rate"
        case .viewerSwitches: "viewer_switches"
        }
    }

    package var unit: Unit {
        switch self {
        case .connect, .firstByte, .firstByteUncorrected, .total, .totalUncorrected,
            .failedUncorrected, .sendDelay, .startup, .stall:
            .microseconds
        case .viewerStalls, .viewerLateSegments, .viewerSwitches: .count
        case .viewerRebuffering: .millionths
        case .viewerBitRate: .kilobitsPerSecond
        }
    }

    package static func named(_ name: String) -> LoadMetric? {
        allCases.first { $0.name == name }
    }
}
