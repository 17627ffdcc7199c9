import FoundationEssentials
package import Statistics

/// The highest load that a server took in `dray loadtest --search --json`: the limits of an origin,
/// or the speed of an edge.
package struct SearchReport: Sendable {
    static let kind = "search"

    struct Ladder: Decodable {
        var kind: String
        var highest: Double?
        var isConclusive: Bool?
    }

    private struct Document: Decodable {
        struct Figures: Decodable {
            var requestsPerSecond: Double?
            var bitsPerSecond: Double?
        }

        var ladder: Ladder?
        /// Those of the highest load that passed.
        var figures: Figures?
    }

    /// Answered requests per second, and their bits per second.
    package let requestsPerSecond: Double
    package let bitsPerSecond: Double
    /// False if something else ended the search, so that the server may do more.
    package let isConclusive: Bool

    private var meanBytes: Double { bitsPerSecond / 8 / requestsPerSecond }

    /// Reads a report. Throws for anything but a search in which a load passed.
    package init(json bytes: [UInt8]) throws(PlannerError) {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(bytes)),
            let figures = document.figures
        else {
            throw PlannerError(
                field: "the file", given: "no report of a load test",
                allowed: "use the output of `dray loadtest URL --rate N --search --json`")
        }
        guard let ladder = document.ladder, ladder.kind == Self.kind else {
            throw PlannerError(
                field: "the load test", given: "without a search for the limit",
                allowed: "run it with --search")
        }
        guard ladder.highest != nil, let requests = figures.requestsPerSecond,
            let bits = figures.bitsPerSecond, requests > 0, requests <= 1e9, bits >= 0, bits <= 1e15
        else {
            throw PlannerError(
                field: "the search", given: "without a load that passed",
                allowed: "search again from a lower load")
        }
        requestsPerSecond = requests
        bitsPerSecond = bits
        isConclusive = ladder.isConclusive ?? true
    }

    private var atLeast: [String] {
        isConclusive
            ? [] : ["The search did not find the limit: the server does this much or more."]
    }

    // MARK: Inputs

    /// Limits of an origin, by the paths of the inputs.
    package var originValues: [String: Measured] {
        [
            ScenarioInput.originRequests.row.path: Measured(one: requestsPerSecond),
            ScenarioInput.originMegabits.row.path: Measured(one: max(0.001, bitsPerSecond / 1e6)),
        ]
    }

    /// The basis of `originValues`, a sentence each.
    package func originNotes(_ values: ScenarioValues) -> [String] {
        let demand = Demand(values)
        let size =
            demand.fillSegmentsPerDay >= 1 ? demand.fillSegmentBytes : demand.missBytes
        return [
            "The origin answered \(Plan.rate(requestsPerSecond)) requests of "
                + "\(ShortText.bytes(meanBytes)) per second, \(Plan.rate(bitsPerSecond / 1e6)) "
                + "Mbit/s. The plan has both as limits, because a search does not show which of "
                + "them it met; the plan's segments have \(ShortText.bytes(size)). Search with "
                + "files of this size, or set --origin-requests and --origin-megabits."
        ] + atLeast
    }

    /// The speed of an edge's core, if `cores` answered the search.
    ///
    /// The CPU time of requests is what the bytes leave, at the CPU time of `values` for a gigabyte;
    /// the bytes never have more than all of it.
    package func edgeValues(cores: Double, _ values: ScenarioValues) -> [String: Measured] {
        let each = cores / requestsPerSecond
        let ofBytes = meanBytes * values[.edgeCPUPerGigabyte] * 1e-9
        let allowed = ScenarioInput.edgeRequestsPerCore.row.allowed
        let most = 1 / allowed.upperBound
        var measured = [
            ScenarioInput.edgeRequestsPerCore.row.path:
                Measured(one: max(allowed.lowerBound, 1 / max(most, each - ofBytes)))
        ]
        if meanBytes > 0, each - ofBytes < most {
            measured[ScenarioInput.edgeCPUPerGigabyte.row.path] =
                Measured(one: max(0, each - most) / meanBytes * 1e9)
        }
        return measured
    }

    /// The basis of `edgeValues`, a sentence each.
    package func edgeNotes(cores: Double) -> [String] {
        [
            "\(Scenario.plain(cores)) cores of the edge answered "
                + "\(Plan.rate(requestsPerSecond)) requests of \(ShortText.bytes(meanBytes)) per "
                + "second, \(Plan.rate(bitsPerSecond / 1e6)) Mbit/s. The plan assumes that their "
                + "CPU was the limit; if it was the network, the edge needs fewer cores."
        ] + atLeast
    }
}
