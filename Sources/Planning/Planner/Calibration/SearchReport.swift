import FoundationEssentials
package import Statistics

/// The highest load that a server took in `dray loadtest --search --json`: the limits of an origin,
/// or the speed of an edge.
package struct SearchReport: Sendable {
    static let kind = "search"

    struct Ladder: Decodable {
        struct Knee: Decodable { var level: Double }

        var kind: String
        var unit: String?
        var highest: Double?
        var lowestBroken: Double?
        /// The reason why the load `lowestBroken` failed.
        var limit: String?
        var knee: Knee?
        var isConclusive: Bool?
        var margin: SearchMargin?
    }

    private struct Document: Decodable {
        struct Figures: Decodable {
            var requestsPerSecond: Double?
            /// Nil for viewers, whose arrivals are not requests.
            var plannedPerSecond: Double?
            var bitsPerSecond: Double?
        }

        var ladder: Ladder?
        /// Those of the highest load that passed.
        var figures: Figures?
    }

    /// Requests per second of the highest load that passed, and their bits per second.
    ///
    /// They are its arrivals, as in the command that a search prints, if each arrival is a request.
    /// A short step answers more or fewer by chance. Else they are the answered requests.
    package let requestsPerSecond: Double
    package let bitsPerSecond: Double
    /// How far the limit may be above the load that passed.
    private let reach: Reach
    /// How far the search's method allows the limit to be from that load; nil if it does not apply.
    private let margin: SearchMargin?

    private enum Reach: Equatable {
        case found
        /// The search ended before it found the limit, which is this many times the load at most.
        case below(Double)
        /// No load was too much for the server.
        case open
    }

    /// False if the server may do more than the load that passed.
    package var isConclusive: Bool { reach == .found }

    /// The limits over the values of `originValues` at most; infinite if no load was too much.
    package var maxFactor: Double {
        switch reach {
        case .found: 1
        case .below(let factor): factor
        case .open: .infinity
        }
    }

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
        guard let highest = ladder.highest, let answered = figures.requestsPerSecond,
            let bits = figures.bitsPerSecond, answered > 0, answered <= 1e9, bits >= 0,
            bits <= 1e15, highest > 0, highest <= 1e9
        else {
            throw PlannerError(
                field: "the search", given: "without a load that passed",
                allowed: "search again from a lower load")
        }
        let isArrivals = ladder.unit == "arrivalsPerSecond" && figures.plannedPerSecond != nil
        requestsPerSecond = isArrivals && ladder.knee == nil ? highest : answered
        bitsPerSecond = bits * requestsPerSecond / answered
        reach = Self.reach(ladder, highest)
        margin = isArrivals && ladder.knee == nil ? ladder.margin?.checked : nil
    }

    private static func reach(_ ladder: Ladder, _ highest: Double) -> Reach {
        let broken = ladder.lowestBroken
        if ladder.isConclusive ?? true, broken != nil || ladder.knee != nil { return .found }
        // Other reasons are the generator's.
        guard let broken, broken > highest, broken <= 1e9,
            ["threshold", "fellBehind"].contains(ladder.limit)
        else { return .open }
        return .below(broken / highest)
    }

    /// The requests per second of the lowest load that was too much, if the limit is below it.
    private var maxRequests: String? {
        guard case .below(let factor) = reach else { return nil }
        return Plan.rate(requestsPerSecond * factor)
    }

    private var atLeast: String { reach == .open ? "at least " : "" }

    /// Describes a limit that was not found, and what follows with and without an upper bound.
    private func open(within: String, orMore: String) -> [String] {
        if let maxRequests {
            let least = requestsPerSecond * (1 - (margin?.lower ?? 0))
            let range = "\(Plan.rate(least)) and \(maxRequests) requests per second"
            return [
                "The search ended before it found the limit, which is between \(range): "
                    + "\(within). Search again on a quiet machine for the limit."
            ]
        }
        return reach == .found
            ? []
            : [
                "The search did not reach the limit, so \(orMore). Search on from a higher load "
                    + "for the limit."
            ]
    }

    /// The basis of the values, for the source of an input.
    package var basis: String {
        if let maxRequests {
            return "the highest load that passed: the limit is below \(maxRequests) requests/s"
        }
        return isConclusive
            ? "the highest load that passed" + (margin.map { ", \($0.signed)" } ?? "")
            : "at least: the search did not reach the limit"
    }

    /// The margin of the search, a sentence after another one; empty without one.
    private var marginText: String {
        margin.map { " \($0.text(of: requestsPerSecond, isFound: reach == .found))" } ?? ""
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
            "The origin answered \(atLeast)\(Plan.rate(requestsPerSecond)) requests of "
                + "\(ShortText.bytes(meanBytes)) per second, \(Plan.rate(bitsPerSecond / 1e6)) "
                + "Mbit/s.\(marginText) The plan has both as limits, because a search does not show which of "
                + "them it met; the plan's segments have \(ShortText.bytes(size)). Search with "
                + "files of this size, or set --origin-requests and --origin-megabits."
        ]
            + open(
                within: "the plan has the lower number",
                orMore: "the origin allows this much or more")
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
            "\(Scenario.grouped(cores)) cores of the edge answered "
                + "\(atLeast)\(Plan.rate(requestsPerSecond)) requests of "
                + "\(ShortText.bytes(meanBytes)) per second, \(Plan.rate(bitsPerSecond / 1e6)) Mbit/s.\(marginText) The plan assumes that their "
                + "CPU was the limit; if it was the network, the edge needs fewer cores."
        ]
            + open(
                within: "the edge needs as many cores as planned, or fewer",
                orMore: "the edge needs as many cores as planned, or fewer")
    }
}
