import API
import Model
import Storage
import TestSupport
import Testing

@testable import Worker

@Suite struct AuditMergeTests {
    /// Files that may be there or not are counted apart: a deep audit reads none of them.
    @Test func whatIsNotComparedIsCountedApart() throws {
        var walk = WalkBatch()
        for (kind, length, name) in [
            (WalkBatch.Kind.directory, 0, "h"), (.file, 10, "a"), (.file, 7, "aside"),
            (.file, 5, "foreign"),
        ] as [(WalkBatch.Kind, Int64, String)] {
            Array(name.utf8).withUnsafeBufferPointer { walk.append(kind, length: length, $0) }
        }
        let digest = String(repeating: "a", count: 64)
        var merge = AuditMerge()
        merge.take(
            page: Array("3 5 10 \(digest):h/a\n7 0 - -:h/aside\n6 0 - -:h/gone".utf8),
            isLast: true)
        merge.take(walk: [walk])
        loop: while true {
            switch try merge.run() {
            case .needsWalk: merge.take(walk: [])
            case .isFull: _ = merge.takeSuspects()
            case .pageIsDone: break loop
            }
        }
        #expect(merge.takeToRead().map(\.key) == ["h/a"])
        var report = SiteAuditReport(worker: "w", lease: "l", page: 0)
        merge.takeCounts(into: &report)
        #expect(report.files == 3 && report.bytes == 22 && report.checkedFiles == 1)
        #expect(report.uncomparedFiles == 1 && report.uncomparedBytes == 7)
    }
}
