package import API
package import Model

/// Load tests on workers. All requests may be repeated: a second one has the same effect.
extension CoordinatorClient {
    /// Creates a test and calls for workers. Throws `input.notFound` for a missing queue, and
    /// `input.loadTestRunning` while another test of it runs.
    package func create(
        _ test: LoadTestSubmission, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestStatus {
        let bytes = (test.urls ?? []).reduce(test.scenario.utf8.count) { $0 + $1.utf8.count }
        return try await post(
            "/v1/load-tests", test,
            call: Call(retrySeconds: retrySeconds, waitSeconds: Self.sendSeconds(bytes)))
    }

    /// Adds parts of a test's data. Throws `input.notFound`, `input.field` for a part that the test
    /// does not have, and `input.tooLarge`.
    @discardableResult
    package func add(
        _ data: LoadTestData, to id: LoadTestID, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestDataAnswer {
        let bytes = data.parts.reduce(0) { $0 + $1.data.utf8.count }
        return try await post(
            "/v1/load-tests/\(id)/data", data,
            call: Call(retrySeconds: retrySeconds, waitSeconds: Self.sendSeconds(bytes)))
    }

    /// Returns the seconds that a long body has beside the time for an answer, at 128 KiB a second.
    private static func sendSeconds(_ bytes: Int) -> Double { Double(bytes) / Double(128 << 10) }

    package func loadTests(retrySeconds: Double? = nil) async throws(Failure) -> LoadTestList {
        try await get("/v1/load-tests", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns the status of a test. Throws `input.notFound`.
    package func loadTest(
        _ id: LoadTestID, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestStatus {
        try await get("/v1/load-tests/\(id)", call: Call(retrySeconds: retrySeconds))
    }

    /// Returns the changes of a test, and keeps it running. Throws `input.notFound`.
    package func follow(
        _ id: LoadTestID, _ follow: LoadTestFollow, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestUpdate {
        try await post(
            "/v1/load-tests/\(id)/follow", follow,
            call: Call(
                retrySeconds: retrySeconds, waitSeconds: Double(follow.waitMilliseconds) / 1000))
    }

    /// Changes the load of a running test: arrivals per second, or users. Throws `input.notFound`,
    /// `input.field` for a level out of its range, and `input.loadFixed` if its load cannot change.
    package func changeLoad(
        of id: LoadTestID, to level: Double, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestChange {
        try await post(
            "/v1/load-tests/\(id)/load", LoadTestChangeRequest(level: level),
            call: Call(retrySeconds: retrySeconds))
    }

    /// Stops all workers of a test. Throws `input.notFound`.
    @discardableResult
    package func stopLoadTest(
        _ id: LoadTestID, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestStatus {
        try await post(
            "/v1/load-tests/\(id)/stop", [String: String](), call: Call(retrySeconds: retrySeconds))
    }

    /// Returns a shard's results by URL, target and rendition. Throws `input.notFound`.
    package func loadBreakdown(
        of id: LoadTestID, shard: Int, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestBreakdown {
        try await get(
            "/v1/load-tests/\(id)/breakdown?shard=\(shard)", call: Call(retrySeconds: retrySeconds))
    }

    // MARK: For workers

    /// Joins a test if it still needs workers.
    package func join(
        _ id: LoadTestID, _ join: LoadTestJoin, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestAssignment {
        try await post("/v1/load-tests/\(id)/shards", join, call: Call(retrySeconds: retrySeconds))
    }

    /// Returns parts of a running shard's data. Throws `input.notFound` for a shard that does not run.
    package func loadParts(
        _ request: LoadTestPartsRequest, of id: LoadTestID, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestParts {
        try await post(
            "/v1/load-tests/\(id)/parts", request, call: Call(retrySeconds: retrySeconds))
    }

    /// Reports the progress of a shard, and returns the worker's order.
    package func report(
        _ report: LoadTestReport, of id: LoadTestID, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestOrder {
        try await post(
            "/v1/load-tests/\(id)/reports", report,
            call: Call(
                retrySeconds: retrySeconds, waitSeconds: Double(report.waitMilliseconds) / 1000))
    }
}
