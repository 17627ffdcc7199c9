/// How far a server's limit may be from the highest rate that passed in a search.
struct SearchMargin: Decodable {
    /// The share that it may be lower; 1 if the steps were too short to show a backlog.
    var below: Double
    /// The share that it may be higher; nil if no load was too much for the server.
    var above: Double?

    /// The same margin; nil if its numbers are none of a search's.
    var checked: SearchMargin? {
        guard (0...1).contains(below), (0...1e6).contains(above ?? 0) else { return nil }
        return self
    }

    /// The share that the limit may be lower; 0 if the search does not show it.
    var lower: Double { below < 1 ? below : 0 }

    /// Returns `−2 %, +5 %`.
    var signed: String {
        guard below < 1 else { return "without a margin: its steps are too short" }
        return "−\(Self.percent(below))" + (above.map { ", +\(Self.percent($0))" } ?? "")
    }

    /// Describes the margin of `rate`, a sentence.
    func text(of rate: Double, isFound: Bool) -> String {
        guard below < 1 else {
            return "The steps of the search were too short to show a backlog: search with a longer "
                + "--step."
        }
        guard isFound, let above else { return "Margin of the search: \(signed)." }
        return "Margin of the search: \(signed): the limit is between "
            + "\(Plan.rate(rate * (1 - below))) and \(Plan.rate(rate * (1 + above))) requests per "
            + "second."
    }

    /// Formats a share as the search prints it.
    private static func percent(_ share: Double) -> String {
        let percent = share * 100
        let places =
            percent > 0 && percent < 0.95
            ? max(0.1, (percent * 10).rounded() / 10) : percent.rounded()
        return "\(Scenario.plain(places)) %"
    }
}
