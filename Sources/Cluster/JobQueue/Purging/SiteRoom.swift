import API
import Postgres

/// The room that a site has, and what waits for some: it decides how much is evicted.
struct SiteRoom: Sendable {
    var site: Int64
    var order: EvictionOrder
    /// Nil for no quota.
    var quotaBytes: Int64?
    var floorBytes: Int64
    /// Stored, and under way, without files whose deletion has failed and is tried again.
    var usedBytes: Int64
    /// Free on the file system, as a worker last reported it; nil if unknown.
    var availableBytes: Int64?
    /// The disk has been full since the last eviction ended.
    var isFull = false
    /// Files that were rejected for lack of room since then, and the size of the largest: 0 where no
    /// list states one.
    var waitingFiles: Int64 = 0
    var waitingBytes: Int64 = 0
    /// Evicted files are still being deleted.
    var isEvicting = false
    /// A coordinator is still removing the assets.
    var isRemoving = false
    /// Workers are deleting files, of whatever removal, or will when nothing stores them any more.
    var isFreeing = false
    var isPostponed = false

    /// Percent of the quota from which assets are evicted, and down to which.
    static let highPercent: Int64 = 95
    static let lowPercent: Int64 = 90
    /// The largest part of a site, in percent, that is freed for files of unknown size: one that never
    /// fits would empty the site otherwise.
    static let unknownPercent: Int64 = 25
    /// The least that a full disk asks for.
    static let minBytes: Int64 = 64 << 20

    /// The bytes to evict now; 0 for none.
    var neededBytes: Int64 { max(overQuotaBytes, diskBytes) }

    /// Down to the low mark and to what the largest waiting file needs, from the high mark on or
    /// where a file waits. A file of unknown size asks for twice what is left, up to a share. While
    /// files are being deleted, which count until they are, what is used falls by itself.
    private var overQuotaBytes: Int64 {
        guard let quotaBytes, !isFreeing else { return 0 }
        let left = quotaBytes - usedBytes
        let wanted =
            waitingFiles == 0
            ? 0
            : waitingBytes > 0
                ? waitingBytes
                : min(
                    max(2 * max(left, 0), quotaBytes / 20),
                    quotaBytes / 100 * Self.unknownPercent)
        let isHigh = Double(usedBytes) > Double(quotaBytes) / 100 * Double(Self.highPercent)
        guard isHigh || wanted > left else { return 0 }
        let low = quotaBytes / 100 * Self.lowPercent
        return max(usedBytes - min(low, max(quotaBytes - wanted, 0)), 0)
    }

    /// Up to the floor, a tenth of it, and what waits. While files are being deleted, the
    /// free space is unknown.
    private var diskBytes: Int64 {
        // A file of unknown size that a quota may have rejected is counted there.
        let waitsForQuota =
            quotaBytes.map { waitingBytes == 0 || $0 - usedBytes < waitingBytes } ?? false
        guard !isFreeing, isFull || waitingFiles > 0 && !waitsForQuota else { return 0 }
        let margin = max(floorBytes / 10, Self.minBytes, waitingBytes)
        guard let availableBytes else { return margin }
        let left = max(availableBytes - floorBytes, 0)
        let share = (usedBytes + left) / 100 * Self.unknownPercent
        let wanted =
            waitingFiles > 0 && waitingBytes == 0 ? max(margin, min(2 * left, share)) : margin
        return max(floorBytes + wanted - availableBytes, isFull ? Self.minBytes : 0)
    }
}

extension SiteRoom {
    /// Decodes a row of `Evicting.room`.
    init(_ row: PostgresRow) throws {
        self.init(
            site: try row.int64("id"),
            order: EvictionOrder(rawValue: try row.string("evict")) ?? .off,
            quotaBytes: try row.optionalInt64("quota_bytes"),
            floorBytes: try row.int64("floor_bytes"), usedBytes: try row.int64("used_bytes"),
            availableBytes: try row.optionalInt64("available_bytes"),
            isFull: try row.bool("is_full"), waitingFiles: try row.int64("waiting_files"),
            waitingBytes: try row.int64("waiting_bytes"),
            isEvicting: try row.bool("is_evicting"),
            isRemoving: try row.bool("is_removing"), isFreeing: try row.bool("is_freeing"),
            isPostponed: try row.bool("is_postponed"))
    }
}
