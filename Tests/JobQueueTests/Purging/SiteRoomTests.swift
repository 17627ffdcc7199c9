import API
import Testing

@testable import JobQueue

/// How much a site evicts.
@Suite struct SiteRoomTests {
    private static func room(_ change: (inout SiteRoom) -> Void) -> Int64 {
        var room = SiteRoom(
            site: 1, order: .leastRecentlyWanted, quotaBytes: 1_000, floorBytes: 0, usedBytes: 500)
        change(&room)
        return room.neededBytes
    }

    @Test func aQuotaIsKeptBetweenItsMarks() {
        #expect(Self.room { $0.usedBytes = 950 } == 0)
        #expect(Self.room { $0.usedBytes = 951 } == 51)
        #expect(Self.room { $0.usedBytes = 1_200 } == 300)
        #expect(
            Self.room {
                $0.usedBytes = 951
                $0.quotaBytes = nil
            } == 0)
        // What is being deleted counts until it is.
        #expect(
            Self.room {
                $0.usedBytes = 1_200
                $0.isFreeing = true
            } == 0)
    }

    @Test func aWaitingFileNeedsItsRoom() {
        #expect(
            Self.room {
                $0.waitingFiles = 1
                $0.waitingBytes = 500
            } == 64 << 20)
        #expect(
            Self.room {
                $0.waitingFiles = 1
                $0.waitingBytes = 700
            } == 200)
        // Of unknown size: twice what is left.
        #expect(
            Self.room {
                $0.waitingFiles = 1
                $0.usedBytes = 900
            } == 100)
        // What is larger than the quota empties the site, and no more.
        #expect(
            Self.room {
                $0.waitingFiles = 1
                $0.waitingBytes = 5_000
            } == 500)
    }

    /// A file that never fits frees a part of the site, and then nothing any more.
    @Test(arguments: [true, false]) func aFileOfUnknownSizeFreesAShare(_ hasQuota: Bool) {
        let total: Int64 = 1 << 40
        var room = SiteRoom(
            site: 1, order: .leastRecentlyWanted, quotaBytes: hasQuota ? total : nil,
            floorBytes: 0, usedBytes: total / 10 * 9)
        room.waitingFiles = 1
        var evictions = 0
        while true {
            if !hasQuota { room.availableBytes = total - room.usedBytes }
            guard room.neededBytes > 0, evictions < 100 else { break }
            room.usedBytes -= room.neededBytes
            evictions += 1
        }
        #expect(evictions > 0 && room.usedBytes >= total / 100 * 74)
    }

    @Test func aFullDiskIsFreedUpToItsFloor() {
        let gibibyte: Int64 = 1 << 30
        func disk(_ change: (inout SiteRoom) -> Void) -> Int64 {
            Self.room {
                $0.quotaBytes = nil
                $0.floorBytes = 10 * gibibyte
                $0.isFull = true
                change(&$0)
            }
        }
        #expect(disk { $0.availableBytes = 9 * gibibyte } == 2 * gibibyte)
        #expect(
            disk {
                $0.availableBytes = 10 * gibibyte
                $0.waitingFiles = 1
                $0.waitingBytes = 5 * gibibyte
            } == 5 * gibibyte)
        #expect(disk { _ in } == gibibyte)
        // What is deleted by now is not known to be free.
        #expect(disk { $0.isFreeing = true } == 0)
        #expect(disk { $0.isFull = false } == 0)
    }
}
