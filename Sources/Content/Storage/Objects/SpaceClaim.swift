import Model
import Synchronization

/// The space of its site that one object has taken and was promised. Takes no lock; safe from any
/// thread.
struct SpaceClaim: ~Copyable, Sendable {
    private let site: SiteDirectories
    /// True if the length is unknown: the quota counts written bytes.
    private let isGrowing: Bool
    /// Bytes taken from the quota.
    private let takenBytes = Atomic<Int64>(0)
    private let isReserved = Atomic<Bool>(false)
    /// Bytes still to write of the space promised to it.
    private let promised = Atomic<Int64>(0)
    /// Bytes written since the last check of the file system's free space.
    private let unlooked = Atomic<Int>(0)

    init(in site: SiteDirectories, isGrowing: Bool) {
        self.site = site
        self.isGrowing = isGrowing
    }

    /// Takes the next bytes of an object of unknown length from the quota.
    func grow(by count: Int) throws(Failure) {
        guard isGrowing else { return }
        takenBytes.add(try site.bounds.grow(by: Int64(count)), ordering: .relaxed)
    }

    /// Records written bytes, and checks the free space from time to time.
    func wrote(_ count: Int) throws(Failure) {
        guard !isReserved.load(ordering: .relaxed) else { return }
        release(Int64(count))
        if unlooked.add(count, ordering: .relaxed).newValue >= SpaceLimits.stepBytes {
            unlooked.store(0, ordering: .relaxed)
            try site.bounds.check(0, in: site)
        }
    }

    /// Records that the space is reserved, so that free space no longer matters to the object.
    func markReserved() {
        isReserved.store(true, ordering: .relaxed)
        releaseRest()
    }

    /// Records bytes that `SpaceLimits.take` took from the quota; `giveBack` returns them.
    func took(_ bytes: Int64) { takenBytes.add(bytes, ordering: .relaxed) }

    var quotaBytes: Int64 { takenBytes.load(ordering: .relaxed) }

    /// Returns the taken bytes to the quota.
    func giveBack() { site.bounds.giveBack(quotaBytes) }

    /// Sets the bytes that `SpaceLimits.take` has promised.
    func promise(_ bytes: Int64) { promised.store(bytes, ordering: .relaxed) }

    /// Releases the rest of the promise: it will not be written.
    func releaseRest() { release(.max) }

    private func release(_ bytes: Int64) {
        var left = promised.load(ordering: .relaxed)
        while left > 0 {
            let given = min(left, bytes)
            let (isDone, now) = promised.weakCompareExchange(
                expected: left, desired: left - given, ordering: .relaxed)
            if isDone { return site.bounds.release(given) }
            left = now
        }
    }
}
