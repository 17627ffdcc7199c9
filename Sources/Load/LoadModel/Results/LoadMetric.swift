/// A metric with a histogram.
///
/// Latencies count from the planned time of sending. Those named `Uncorrected` count from the
/// actual sending and exclude the waits that a stalled server causes. Those of successful and of
/// failed requests stand apart, because fast failures would make a slow server look fast.
package enum LoadMetric: Int, Sendable, CaseIterable, Hashable {
    /// Connection times of requests that opened one, from sending: name lookup, TCP and TLS.
    case connect
    /// Times of successful requests.
    case firstByte
    case firstByteUncorrected
    case total
    case totalUncorrected
    /// Times of failed requests to their end.
    case failed
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
    /// Times of live viewers: request times of manifests, the time since the playhead's position was live,
    /// taken each second of each viewer, and each viewer's change of it from its first frame to its
    /// end.
    case playlistReload
    case liveLatency
    case viewerDrift
    /// From a seek to the next frame.
    case seek
    /// Times of requests that were answered with a redirect, which was followed.
    case redirect

    /// Its raw value is its name in JSON.
    package enum Unit: String, Sendable {
        case microseconds
        case count
        case millionths
        case kilobitsPerSecond

        package var name: String { rawValue }
    }

    /// Name in thresholds, JSON and logs.
    package var name: String {
        switch self {
        case .connect: "connect"
        case .firstByte: "first_byte"
        case .firstByteUncorrected: "first_byte_uncorrected"
        case .total: "total"
        case .totalUncorrected: "total_uncorrected"
        case .failed: "failed"
        case .failedUncorrected: "failed_uncorrected"
        case .sendDelay: "send_delay"
        case .startup: "startup"
        case .stall: "stall"
        case .viewerStalls: "viewer_stalls"
        case .viewerRebuffering: "viewer_rebuffer_ratio"
        case .viewerLateSegments: "viewer_late_segments"
        case .viewerBitRate: "viewer_bit_rate"
        case .viewerSwitches: "viewer_switches"
        case .playlistReload: "playlist_reload"
        case .liveLatency: "live_latency"
        case .viewerDrift: "viewer_drift"
        case .seek: "seek"
        case .redirect: "redirect"
        }
    }

    package var unit: Unit {
        switch self {
        case .connect, .firstByte, .firstByteUncorrected, .total, .totalUncorrected,
            .failed, .failedUncorrected, .sendDelay, .startup, .stall, .playlistReload,
            .liveLatency, .viewerDrift, .seek, .redirect:
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
