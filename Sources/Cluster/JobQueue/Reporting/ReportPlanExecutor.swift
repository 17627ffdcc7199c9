import Model
import Postgres

/// Writes the plan of a report, within its transaction.
struct ReportPlanExecutor: Sendable {
    let origins: OriginCooldowns
    let closedSites: ClosedSites
    let renewals: URLRenewals
    let maxAttemptsAtMirrors: Int

    func plan(rejections: [JobID: ReportPlan.Rejection] = [:]) -> ReportPlan {
        ReportPlan(maxAttemptsAtMirrors: maxAttemptsAtMirrors, rejections: rejections)
    }

    /// Writes a plan; the jobs in it are locked by this transaction.
    func execute(_ plan: ReportPlan, _ connection: PostgresConnection) async throws {
        var wakes = false
        if !plan.settled.jobs.isEmpty { try await Self.write(plan.settled, connection) }
        if !plan.refreshes.jobs.isEmpty { try await RefreshEnd.settle(plan.refreshes, connection) }
        let retried = plan.retried
        if !plan.checksums.jobs.isEmpty {
            _ = try await connection.query(
                SQL.ChecksumFiles.settle,
                [
                    "lanes": .int64Array(plan.checksums.lanes),
                    "jobs": .int64Array(plan.checksums.jobs),
                    "failed": .int64Array(plan.checksums.failed),
                    "bytes": .optionalIntArray(plan.checksums.bytes),
                    "sha256": .optionalTextArray(plan.checksums.digests),
                ])
        }
        if !plan.reportedPurges.jobs.isEmpty {
            _ = try await connection.query(
                SQL.Purging.releaseReturned,
                [
                    "lanes": .int64Array(plan.reportedPurges.lanes),
                    "jobs": .int64Array(plan.reportedPurges.jobs),
                ])
        }
        if !plan.purges.jobs.isEmpty {
            _ = try await connection.query(
                SQL.Purging.end,
                [
                    "lanes": .int64Array(plan.purges.lanes),
                    "jobs": .int64Array(plan.purges.jobs),
                ])
        }
        if !retried.jobs.isEmpty {
            if !plan.returned.jobs.isEmpty {
                _ = try await connection.query(
                    SQL.Reporting.noteReturned,
                    [
                        "lanes": .int64Array(plan.returned.lanes),
                        "jobs": .int64Array(plan.returned.jobs),
                    ])
            }
            try await Self.write(retried, connection)
            wakes = retried.seconds.contains { $0 <= 0 }
        }
        if !plan.renewals.isEmpty { try await URLRenewals.queue(plan.renewals, connection) }
        if !plan.origins.isEmpty { try await origins.record(plan.origins, connection) }
        for step in plan.steps {
            if try await execute(step, connection) { wakes = true }
        }
        if !plan.refreshTimes.assets.isEmpty {
            _ = try await connection.query(
                SQL.Refreshing.setTimes,
                [
                    "assets": .int64Array(plan.refreshTimes.assets),
                    "seconds": .int64Array(plan.refreshTimes.seconds),
                ])
        }
        let outcomes = plan.outcomes
        if !outcomes.isEmpty {
            _ = try await connection.query(SQL.Reporting.noteOutcomes, outcomes.values)
        }
        if !plan.met.isEmpty {
            _ = try await connection.query(SQL.Daily.noteFailures, plan.met.values)
        }
        if wakes { _ = try await connection.query(SQL.Common.notifyWork) }
        if !plan.siteFailures.lanes.isEmpty {
            try await closedSites.fail(plan.siteFailures, connection)
        }
    }

    private static func write(
        _ settled: ReportPlan.Settled, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Reporting.settleFetches,
            [
                "lanes": .int64Array(settled.lanes), "jobs": .int64Array(settled.jobs),
                "done": .boolArray(settled.done), "bytes": .optionalIntArray(settled.bytes),
                "sha256": .optionalTextArray(settled.digests),
                "adopted": .boolArray(settled.reused),
                "codes": .optionalTextArray(settled.codes),
                "messages": .optionalTextArray(settled.messages),
                "verified": .boolArray(settled.verified),
                "validators": .optionalTextArray(settled.validators),
            ])
    }

    private static func write(
        _ retried: ReportPlan.Retried, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Reporting.retry,
            [
                "lanes": .int64Array(retried.lanes), "jobs": .int64Array(retried.jobs),
                "seconds": .doubleArray(retried.seconds),
                "attempts": .int64Array(retried.attempts), "counts": .boolArray(retried.counts),
                "codes": .optionalTextArray(retried.codes),
                "messages": .optionalTextArray(retried.messages),
                "await_own_origins": .boolArray(retried.awaitOwnOrigins),
                "isolate": .boolArray(retried.isolate),
                "reasons": .optionalTextArray(retried.reasons),
                "refused_codes": .optionalTextArray(retried.refusedCodes),
                "refused_messages": .optionalTextArray(retried.refusedMessages),
            ])
    }

    /// Writes one step; true if it added a job that wakes idle workers.
    private func execute(
        _ step: ReportPlan.Step, _ connection: PostgresConnection
    ) async throws -> Bool {
        switch step {
        case .resolved(let job, _) where job.isRenewal:
            return try await renewals.end(job, nil, connection)
        case .resolveFailed(let job, let failure) where job.isRenewal:
            return try await renewals.end(job, failure, connection)
        case .resolved(let job, let segments):
            return try await TitleResolution.finish(job, segments: segments, connection)
        case .resolveFailed(let job, let failure):
            return try await TitleResolution.unread(job, failure, connection)
        case .partDone(let whole, let bytes, let stated):
            return try await MultipartFiles.partDone(
                of: whole, bytes: bytes, stated: stated, connection)
        case .partFailed(let whole, let asset, let failure):
            try await MultipartFiles.fail(whole, of: asset, failure, connection)
            return false
        case .reset(let whole, let seconds, let counts, let isDivisible):
            try await MultipartFiles.reset(
                whole, seconds: seconds, counts: counts, isDivisible: isDivisible, connection)
            return false
        case .verified(let job, let stored, let isCompared):
            try await MultipartFiles.verified(job, stored, isCompared: isCompared, connection)
            return false
        case .verifyFailed(let job, let failure):
            try await MultipartFiles.verifyFailed(job, failure, connection)
            return false
        case .publicationFailed(let job, let failure):
            _ = try await connection.query(
                SQL.Refreshing.failPublication,
                [
                    "lane": .int(job.lane), "job": .int(job.id.rawValue),
                    "code": .text(failure.code.rawValue), "message": .text(failure.message),
                ])
            return false
        }
    }
}
