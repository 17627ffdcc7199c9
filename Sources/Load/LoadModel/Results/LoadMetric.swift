/// What a load test has a histogram of.
///
/// Latencies count from the planned time of sending, but for those that say `Uncorrected`: these count from
/// when the request was sent, and leave out what a server that stands still keeps from being sent.
package enum LoadMetric: Int, Sendable, CaseIterable, Hashable {
    /// Of requests that opened a connection, from sending: name lookup, TCP and TLS.
    case connect
    case firstByte
    case firstByteUncorrected
    case total
    case totalUncorrected
    /// Of requests that failed: from the sending to their end, which is in `totalUncorrected` as well.
    case failedUncorrected
    /// From the planned time to the sending.
    case sendDelay
    /// From a viewer's planned time to the first frame.
    case startup
    /// One that a viewer waited for in the midst of playing.
    case stall
    /// Of each viewer at its end: stalls, waiting time in 1,000,000ths of waiting and playing, segments that
    /// came late, mean bit rate in 1,000 bits a second, and changes of rendition.
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

    /// As thresholds, JSON and logs name it.
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
