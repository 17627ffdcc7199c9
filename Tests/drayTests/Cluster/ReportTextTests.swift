import API
import CommandLine
import Model
import Testing

@testable import dray

@Suite struct ReportTextTests {
    private static func figures(
        done: Int64, failed: Int64 = 0, unaddressable: Int64 = 0, retries: Int64 = 0,
        hasAssets: Bool = false
    ) -> DailyReport.Figures {
        DailyReport.Figures(
            done: done, failed: failed, unaddressable: unaddressable, retries: retries,
            bytes: done * 2_048, reusedBytes: 0, transferSeconds: Double(done),
            assets: hasAssets
                ? DailyReport.Assets(completed: done, failed: failed, cancelled: 0) : nil)
    }

    private static func group(_ name: String, _ figures: DailyReport.Figures) -> DailyReport.Group {
        DailyReport.Group(name: name, figures: figures)
    }

    private static let codes: DailyReport = {
        var gone = group("origin.http.404", figures(done: 0, failed: 1, unaddressable: 1))
        gone.isAddressable = false
        var slow = group("origin.timeout", figures(done: 0, failed: 1, retries: 7))
        slow.isAddressable = true
        return DailyReport(
            by: .code, since: "2026-11-25", until: "2026-11-26",
            total: figures(done: 1_998, failed: 2, unaddressable: 1, retries: 7),
            groups: [gone, slow], leftOff: 0)
    }()

    @Test func aReportNamesFailuresAndWhatHelps() {
        let catalog: DailyReport.Group = {
            var group = Self.group(
                "nightly\u{1B}",
                Self.figures(done: 1_998, failed: 2, unaddressable: 1, hasAssets: true))
            group.queue = "edge"
            return group
        }()
        let report = DailyReport(
            by: .catalog, since: "2026-11-25", until: "2026-11-26", total: catalog.figures,
            groups: [catalog], leftOff: 3)
        let text = ReportText.text(report, failures: Self.codes)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.split(separator: " ").joined(separator: " ")
        }
        #expect(lines.first == "2026-11-25 to 2026-11-26 (UTC)")
        #expect(
            lines.contains(
                "Catalog Queue Done Failed Success Addressable Retries Bytes Reused Speed Assets "
                    + "Assets failed"), "\(text)")
        #expect(
            lines.contains {
                $0.hasPrefix("nightly\\u{1B} edge 1,998 2 99.9 % 99.9 % 0 3.90 MiB 0 B 2.00 KiB/s")
            }, "\(text)")
        #expect(lines.contains { $0.hasPrefix("total 1,998 2") }, "\(text)")
        #expect(lines.contains("3 more; the total has them."))
        #expect(lines.contains("origin.http.404 1 0 no"), "\(text)")
        #expect(lines.contains("origin.timeout 1 7 yes"), "\(text)")
        #expect(
            lines.contains("origin.http.404: \(FailureCode.originHTTP404.row.hint)"), "\(text)")
        // Its own figures are the failures.
        let own = ReportText.text(Self.codes, failures: nil)
        #expect(own.contains("Failures\n") && !own.contains("Figures"), "\(own)")
    }

    @Test func recoveryIsAShareOfTheAssetsThatMetACode() {
        var report = Self.codes
        report.groups[1].recovery = .init(
            attempts: 1_207, assets: 1_000, completed: 999, byRetry: 600, byMirror: 398,
            byFreshURL: 1, lost: 1)
        let text = ReportText.text(report, failures: nil)
        let lines = text.split(separator: "\n").map {
            $0.split(separator: " ").joined(separator: " ")
        }
        #expect(
            lines.contains(
                "Code Attempts Assets Completed Retry Mirror Fresh URL Optional Rendition Lost "
                    + "Automatic action"),
            "\(text)")
        #expect(
            lines.contains(
                "origin.timeout 1,207 1,000 99.9 % 60.0 % 39.8 % 0.1 % – – 0.1 % "
                    + FailureCode.originTimeout.remedy), "\(text)")
        // No asset that met the other one has ended.
        #expect(text.split(separator: "\n").count { $0.hasPrefix("origin.http.404 ") } == 1)
        let csv = ListCSV.report(report)
        #expect(csv.contains(",1207,1000,999,600,398,1,0,0,1"), "\(csv)")
    }

    @Test func nothingIsSaidAsNothing() {
        let empty = DailyReport(
            by: .day, since: "2026-11-26", until: "2026-11-26", total: Self.figures(done: 0),
            groups: [], leftOff: 0)
        #expect(ReportText.text(empty, failures: nil) == "2026-11-26 (UTC)\n\nFigures: none\n")
    }

    @Test func aWrongPeriodIsRefused() {
        func message(_ options: String...) -> String? {
            do throws(UsageError) {
                let arguments = try CommandParser(DrayCommand.tree).parse(["report"] + options)
                guard case .run(_, let parsed) = arguments else { return "no command" }
                _ = try ReportCommand.query(parsed)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(message("--days", "3", "--by", "code") == nil)
        #expect(message("--since", "2026-11-01", "--until", "2026-11-30") == nil)
        #expect(message("--since", "2026-11-31")?.contains("--since is '2026-11-31'") == true)
        #expect(message("--until", "2026-11-30")?.contains("without --since") == true)
        #expect(
            message("--since", "2026-11-02", "--until", "2026-11-01")?.contains("is before") == true
        )
        #expect(message("--since", "2026-11-02", "--days", "1")?.contains("--days") == true)
        #expect(message("--origin", "ftp://x")?.contains("--origin is") == true)
        #expect(message("--days", "401") != nil && message("--by", "worker") != nil)
    }
}
