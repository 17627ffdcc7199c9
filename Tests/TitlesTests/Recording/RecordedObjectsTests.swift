import Model
import Testing

@testable import Titles

/// The objects that a reading of an MPD adds.
@Suite struct RecordedObjectsTests {
    @Test func eachKeyIsAddedOnce() {
        var objects = RecordedObjects()
        func object(_ name: String) -> ResolvedSegment {
            ResolvedSegment(
                ordinal: 0, url: "http://a.test/\(name)", key: "a.test/\(name)", role: .media)
        }
        #expect(objects.add(nil) == nil)
        #expect(objects.add(object("1.m4s")) == 0)
        #expect(objects.add(object("2.m4s")) == 1)
        #expect(objects.add(object("1.m4s")) == 0)
        #expect(objects.all.map(\.ordinal) == [0, 1])
        #expect(objects.bytes == 2 * ("http://a.test/1.m4s".utf8.count + "a.test/1.m4s".utf8.count))
    }

    @Test func theDurationsAreThoseOfAllSegments() {
        var durations = ListedDurations()
        for seconds in [4.0, 2, 6] { durations.add(seconds) }
        durations.add(left: 8)
        durations.add(left: 3)
        #expect(durations.shortest == 2 && durations.longest == 6 && durations.left == 8)
    }
}
