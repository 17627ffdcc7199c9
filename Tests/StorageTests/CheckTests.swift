import Glibc
import Model
import Storage
import TestSupport
import Testing

/// The check of a site's storage.
@Suite struct CheckTests {
    @Test func aCheckLeavesNothingAndCountsWhatOthersLeft() throws {
        let site = try Site()
        let before = try site.directory.files()
        let sound = try site.storage.check()
        #expect(sound.unfinishedFiles == 0 && sound.staleFiles == 0)
        #expect(sound.availableBytes > 0 && sound.totalBytes >= sound.availableBytes)
        #expect(try site.directory.files() == before)
        let pending = try site.pending("a", [1, 2, 3])
        try site.directory.write("old", to: ".dray/tmp/old")
        try setTime(of: site.directory.path(".dray/tmp/old"), secondsAgo: 2 * 86_400)
        let left = try site.storage.check()
        #expect(left.unfinishedFiles == 2 && left.staleFiles == 1)
        pending.discard()
        #expect(try site.storage.check().unfinishedFiles == 1)
    }

    private func setTime(of path: String, secondsAgo: Int) throws {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        now.tv_sec -= secondsAgo
        guard utimensat(AT_FDCWD, path, [now, now], 0) == 0 else {
            throw POSIXFailure(errno, "utimensat")
        }
    }
}
