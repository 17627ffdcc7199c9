import API
import Model
import Rendering
import TestSupport
import Testing

@testable import Client
@testable import dray

@Suite struct WaitTextTests {
    /// 2026-11-25T22:00:00Z
    private static let evening = 1_795_644_000.0

    private static let texts: [(CatalogWait, String)] = [
        (CatalogWait(.notBefore, seconds: 42.4), "it starts in 0:42"),
        (CatalogWait(.assetsNotBefore, seconds: 42.4), "its next assets may start in 0:42"),
        (
            CatalogWait(.schedule, seconds: 11_405, until: evening),
            "the schedule opens at 22:00 UTC (in 3:10:05)"
        ),
        (
            CatalogWait(.schedule, seconds: 130_000, until: evening),
            "the schedule opens at 2026-11-25 22:00 UTC (in 1 d 12 h)"
        ),
        (CatalogWait(.schedule), "the schedule is closed and has no next opening"),
        (CatalogWait(.queuePaused(queue: "srv-edge")), "queue srv-edge is paused"),
        (CatalogWait(.noWorker(queue: "q", workers: 0)), "no worker runs: start `dray worker`"),
        (
            CatalogWait(.noWorker(queue: "q", workers: 1)),
            "none of 1 worker takes jobs of queue q"
        ),
        (
            CatalogWait(.retry("origin.http.503"), seconds: 20),
            "the next retry is in 0:20, after origin.http.503"
        ),
        (
            CatalogWait(.workerSilent(worker: "host-7", leases: 1), seconds: 9),
            "worker host-7 does not answer; its lease ends in 0:09"
        ),
        (
            CatalogWait(
                .originCooldown(origin: "http://o", code: "origin.http.429", origins: 3),
                seconds: 60),
            "the cooldown of http://o and 2 more ends in 1:00, after origin.http.429"
        ),
        (
            CatalogWait(.originLimit(origin: "http://o", origins: 1)),
            "the limits of http://o are used up"
        ),
        (CatalogWait(.siteLimit), "the bandwidth of the site is used up"),
        (
            CatalogWait(.retry("origin.http.503"), seconds: 0),
            "the next retry is due, after origin.http.503"
        ),
        (CatalogWait(.otherCatalogs(1)), "the workers are busy with 1 other catalog"),
        (CatalogWait(.other("moon\u{1B}")), "moon\\u{1B}"),
    ]

    @Test func eachReasonHasItsWords() {
        for (wait, text) in Self.texts { #expect(WaitText.text(wait) == text) }
    }

    @Test func aLineNamesTheFirstTwo() {
        #expect(WaitText.line([CatalogWait]()) == nil)
        let waits = [
            CatalogWait(.queuePaused(queue: "q")), CatalogWait(.notBefore, seconds: 5),
            CatalogWait(.siteLimit),
        ]
        #expect(WaitText.line(waits) == "waits: queue q is paused; it starts in 0:05")
    }

    @Test func whatWasWaitedForIsAddedUp() {
        #expect(WaitText.line([WaitHistory.Total(reason: "retry", seconds: 0.5)]) == nil)
        #expect(
            WaitText.line([
                WaitHistory.Total(reason: "schedule", seconds: 3_600),
                WaitHistory.Total(reason: "retry", seconds: 5),
            ]) == "waited 1 h 00 min: closed schedule 1 h 00 min, retries 5.0 s")
        var history = WaitHistory()
        let (pause, retry) = (CatalogWait(.queuePaused(queue: "q")), CatalogWait(.retry(nil)))
        history.update([retry], atSeconds: 0, ofRun: 5)
        history.update([], atSeconds: 0.5, ofRun: 5.5)
        #expect(history.totals == [])
        history.update([retry], atSeconds: 10, ofRun: 15)
        history.update([retry], atSeconds: 11, ofRun: 16)
        history.update([pause, retry], atSeconds: 13, ofRun: 18)
        // By the time of the run, whatever its follower's clock.
        history.update([], atSeconds: 21, ofRun: 25)
        #expect(
            history.totals == [
                WaitHistory.Total(reason: "queuePaused", seconds: 7),
                WaitHistory.Total(reason: "retry", seconds: 3),
            ])
    }

    private func status(_ change: (inout CatalogStatus) -> Void) -> CatalogStatus {
        var totals = CatalogTotals()
        (totals.assets, totals.completed) = (3, 1)
        (totals.segments, totals.segmentsDone) = (3, 1)
        var status = CatalogStatus(
            id: CatalogID(7), name: "movies", queue: "q", storageURL: "file:///edge",
            state: .running, generation: 1, totals: totals, active: [])
        status.deadline = Self.evening
        change(&status)
        return status
    }

    @Test func aDeadlineThatIsNotMetIsReported() {
        func line(_ outlook: DeadlineOutlook?, _ state: CatalogState = .running) -> String? {
            DeadlineText.line(
                status {
                    $0.outlook = outlook
                    $0.state = state
                })
        }
        let name = "the deadline 2026-11-25 22:00 UTC"
        #expect(line(nil) == nil)
        #expect(
            line(DeadlineOutlook(.late, seconds: 725))
                == "\(name) cannot be met: at this rate it ends 12 min 05 s after it")
        #expect(
            line(DeadlineOutlook(.blocked, seconds: 3_600))
                == "\(name) cannot be met: nothing can start until 1 h 00 min after it")
        #expect(
            line(DeadlineOutlook(.blocked))
                == "\(name) cannot be met: nothing can start before it")
        #expect(line(DeadlineOutlook(.missed, seconds: 4)) == "\(name) passed 4.0 s ago")
        #expect(
            line(DeadlineOutlook(.missed, seconds: 4), .completed)
                == "\(name) was missed by 4.0 s")
    }

    @Test func theFollowerShowsWhatACatalogWaitsFor() {
        let waiting = status {
            $0.waits = [CatalogWait(.schedule, seconds: 42)]
            $0.outlook = DeadlineOutlook(.late, seconds: 60)
        }
        var meter = ProgressMeter()
        for second in 0...2 { meter.update(waiting, atSeconds: Double(second)) }
        let style = TerminalStyle(usesColor: false, usesUnicode: false)
        let text = ProgressText(status: waiting, meter: meter, style: style)
        let lines = text.lines(columns: 100, rows: 10)
        #expect(lines[0].contains("left unknown"), "\(lines)")
        #expect(lines[1] == "  waits: the schedule opens in 0:42")
        #expect(lines[2].hasPrefix("  the deadline 2026-11-25 22:00 UTC cannot be met"))
        #expect(
            text.plainLine == "movies: 1 of 3 assets, 33%, 0 B, 0 B/s, time left unknown, "
                + "waits: the schedule opens in 0:42")
    }

    /// Nothing is fetched, and nothing tried again.
    @Test func aRemovalSaysWhatItWaitsFor() {
        let removing = status {
            $0.totals.removing = 2
            $0.totals.freedFiles = 1
            $0.totals.freedBytes = 504
            $0.waits = [CatalogWait(.workerStoring, seconds: 26)]
            $0.state = .interrupted
        }
        var meter = ProgressMeter()
        for second in 0...2 { meter.update(removing, atSeconds: Double(second)) }
        let style = TerminalStyle(usesColor: false, usesUnicode: false)
        #expect(
            ProgressText(status: removing, meter: meter, style: style).plainLine
                == "movies: removing 2 assets, freed 1 file, 504 B, "
                + "waits: workers may still be storing some of its files, which are deleted in 0:26"
        )
    }

    @Test func aCatalogWhoseRestIsPausedIsPausedAndHasNoEnd() {
        let paused = status {
            $0.totals.paused = 2
            $0.waits = [CatalogWait(.paused(assets: 2))]
            $0.finish = CatalogFinish(.unknown(.queuePaused(queue: "q")), deadline: .missed)
        }
        let text = CatalogStatusCommand.text(paused)
        #expect(text.contains("): paused\n"), "\(text)")
        #expect(text.contains("\n  waits: 2 assets are paused\n"), "\(text)")
        #expect(!text.contains("end unknown"), "\(text)")
    }

    @Test func statusShowsWhatACatalogWaitsFor() {
        let waiting = status {
            $0.waits = [CatalogWait(.queuePaused(queue: "q"))]
            $0.outlook = DeadlineOutlook(.blocked)
            $0.finish = CatalogFinish(.unknown(.queuePaused(queue: "q")), deadline: .missed)
        }
        let text = CatalogStatusCommand.text(waiting)
        #expect(text.contains("\n  end unknown: queue q is paused\n"), "\(text)")
        #expect(text.contains("\n  waits: queue q is paused\n"), "\(text)")
        #expect(text.contains("cannot be met: nothing can start before it"), "\(text)")
        let cluster = ClusterStatus(
            version: "1", schemaVersion: 1, catalogs: [waiting], queues: [], workers: [])
        #expect(
            StatusCommand.text(cluster).contains("\n7 movies waits: queue q is paused\n"),
            "\(StatusCommand.text(cluster))")
    }

    @Test func anEndHasItsReason() {
        func line(
            _ bound: CatalogFinish.Bound, _ deadline: CatalogFinish.Deadline = .missed
        ) -> String {
            FinishText.line(
                CatalogFinish(
                    .finishes(at: Self.evening, seconds: 11_405, bound), deadline: deadline))
        }
        let time = "finishes at 22:00 UTC (in 3:10:05)"
        #expect(
            line(.workers(3), .met)
                == "\(time) at the rate of 3 workers, in time for its deadline")
        #expect(
            line(.originLimit(origin: "http://o", origins: 3))
                == "\(time) at the limit of http://o and 2 more")
        #expect(line(.schedule) == "\(time) within the schedule of the site")
        #expect(line(.siteBandwidth) == "\(time) at the bandwidth of the site")
        #expect(
            line(.otherCatalogs(1)) == "\(time), sharing the workers with 1 other catalog")
        #expect(line(.other("moon\u{1B}")) == "\(time): moon\\u{1B}")
        func unknown(_ cause: CatalogFinish.UnknownCause) -> String {
            FinishText.line(CatalogFinish(.unknown(cause), deadline: .unknown))
        }
        #expect(
            unknown(.noRoom(missingBytes: 2_048)) == "end unknown: the storage lacks 2.00 KiB")
        #expect(
            unknown(.noWorker(queue: "q")) == "end unknown: no worker takes jobs of queue q")
        #expect(unknown(.noRate) == "end unknown: no rate was seen yet")
        #expect(unknown(.paused) == "end unknown: all that is left is paused")
    }

    @Test func aSummaryNamesAMissedDeadlineAndWhatWasWaitedFor() {
        var summary = RunSummary(
            status: status {
                $0.state = .completed
                $0.outlook = DeadlineOutlook(.missed, seconds: 61)
            }, destination: "/edge")
        summary.waited = [WaitHistory.Total(reason: "workerSilent", seconds: 30)]
        #expect(
            summary.text.hasSuffix(
                "\n\nwaited 30.0 s: leases of lost workers 30.0 s\n"
                    + "\nthe deadline 2026-11-25 22:00 UTC was missed by 1 min 01 s\n"),
            "\(summary.text)")
    }
}
