import API
import Model
import Postgres

/// Reads the status of catalogs: their figures, why they wait, and when they will end.
struct StatusReader: Sendable {
    let leaseSeconds: Double

    /// Statements about some catalogs.
    struct Statements {
        let status: PostgresStatement
        let waits: PostgresStatement
        let limits: PostgresStatement

        var all: [PostgresStatement] { [status, waits, limits] }
    }

    func statements(of catalog: CatalogID) -> Statements {
        statements(SQL.Status.ofOne, ["catalog": .int(catalog.rawValue)])
    }

    /// The statements about the 100 latest catalogs.
    var latest: Statements { statements(SQL.Status.ofLatest, [:]) }

    private func statements(
        _ texts: SQL.Status.OfCatalogs, _ values: SQLValues
    ) -> Statements {
        Statements(
            status: PostgresStatement(texts.status, values),
            waits: PostgresStatement(
                texts.waits, values + ["lease_seconds": .double(leaseSeconds)]),
            limits: PostgresStatement(texts.limits, values))
    }

    /// Decodes the answers to the statements.
    static func read(
        _ statuses: PostgresResult, waits: PostgresResult, limits: PostgresResult
    ) throws -> [CatalogStatus] {
        let waits = try CatalogWaits.read(waits)
        let limits = try FinishLimits.read(limits)
        return try statuses.rows.map { row in
            let id = CatalogID(try row.int64("id"))
            return try CatalogStatus(
                row: row, waits: waits[id] ?? CatalogWaits(), limits: limits[id])
        }
    }
}

extension CatalogStatus {
    /// Decodes a row of the template `status`, without active assets.
    ///
    /// - Parameter limits: nil unless it runs.
    fileprivate init(row: PostgresRow, waits: CatalogWaits, limits: FinishLimits?) throws {
        var totals = CatalogTotals()
        totals.assets = Int(try row.int64("assets"))
        totals.completed = Int(try row.int64("assets_completed"))
        totals.failed = Int(try row.int64("assets_failed"))
        let cancelled = Int(try row.int64("assets_cancelled"))
        totals.cancelled = cancelled > 0 ? cancelled : nil
        let paused = Int(try row.int64("assets_paused"))
        totals.paused = paused > 0 ? paused : nil
        let removing = Int(try row.int64("assets_removing"))
        totals.removing = removing > 0 ? removing : nil
        totals.segments = Int(try row.int64("segments"))
        totals.segmentsDone = Int(try row.int64("segments_done"))
        totals.segmentsFailed = Int(try row.int64("segments_failed"))
        totals.bytes = try row.int64("bytes")
        totals.adoptedBytes = try row.int64("adopted_bytes")
        totals.receivingBytes = try row.int64("receiving_bytes")
        let resumed = try row.int64("resumed_bytes")
        totals.resumedBytes = resumed > 0 ? resumed : nil
        totals.expectedBytes = try row.optionalInt64("expected_bytes")
        totals.retries = Int(try row.int64("retries"))
        let freed = Int(try row.int64("freed_files"))
        totals.freedFiles = freed > 0 ? freed : nil
        totals.freedBytes = freed > 0 ? try row.int64("freed_bytes") : nil
        totals.seconds = try row.double("seconds")
        self.init(
            id: CatalogID(try row.int64("id")), name: try row.string("name"),
            queue: try row.string("queue"), storageURL: try row.string("storage_url"),
            state: CatalogState(rawValue: try row.string("state")) ?? .open,
            generation: Int(try row.int64("generation")), totals: totals, active: [])
        priority = Int(try row.int64("priority"))
        recording = try row.optionalString("recording").map {
            try WireJSON.decode(CatalogRecording.self, from: Array($0.utf8))
        }
        traceID = try row.optionalString("traceparent").flatMap { TraceContext($0)?.traceID }
        issue = try Failure(catalogOf: row)
        issueSeconds = try row.optionalDouble("issue_seconds")
        notBefore = try row.optionalDouble("not_before")
        deadline = try row.optionalDouble("deadline")
        refreshSeconds = try row.optionalDouble("refresh_seconds")
        nextRefresh = try row.optionalDouble("next_refresh")
        self.waits = waits.all.isEmpty ? nil : CatalogWait.ordered(waits.all)
        let deadlineSeconds = try row.optionalDouble("deadline_seconds")
        var estimate: CatalogFinish.Estimate?
        if state == .running, let limits {
            var pace: FinishLimits.Pace?
            if let seconds = try row.optionalDouble("pace_seconds") {
                pace = FinishLimits.Pace(
                    seconds: seconds, segments: try row.double("pace_segments"),
                    bytes: try row.double("pace_bytes"))
            }
            let isSiteFailing = try row.optionalString("issue_kind") == "site"
            estimate =
                FinishForecast(
                    totals, limits, pace: pace, waits: waits,
                    siteFailure: isSiteFailing ? issue?.code : nil
                ).estimate
        }
        if recording?.recording ?? 0 > 0, case .finishes = estimate {
            // What live titles will list is not known.
            estimate = .unknown(.noSize)
        }
        var secondsLeft: Double?
        if case .finishes(_, let seconds, _) = estimate { secondsLeft = seconds }
        outlook = DeadlineOutlook.of(
            state, deadlineSeconds: deadlineSeconds, waits: waits.all,
            hasReadyJobs: waits.hasReadyJobs, secondsLeft: secondsLeft)
        finish = estimate.map { estimate in
            let verdict: CatalogFinish.Deadline =
                deadlineSeconds == nil
                ? .noDeadline : outlook != nil ? .missed : secondsLeft == nil ? .unknown : .met
            return CatalogFinish(estimate, deadline: verdict)
        }
    }
}

extension Failure {
    /// Decodes the reason why a catalog waits, from a row of the template `status`.
    fileprivate init?(catalogOf row: PostgresRow) throws {
        guard let code = try row.optionalString("issue_code") else { return nil }
        let subject = try row.optionalString("issue_subject") ?? ""
        let number = try row.optionalInt64("issue_number") ?? 0
        let message =
            switch try row.optionalString("issue_kind") {
            case "roots":
                "\(try row.string("storage_url")) lies outside of the roots of all workers: "
                    + outsideRootsText(subject, hasSymlink: try row.bool("has_symlink"))
            case "room" where number > 1: "\(number) wait for room; one of them: \(subject)"
            case "origins" where number > 1: "\(number) origins, one of them \(subject)"
            default: subject
            }
        self.init(FailureCode(code), message)
    }
}
