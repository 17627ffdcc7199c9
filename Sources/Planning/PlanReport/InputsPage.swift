import Planner
import Rendering

/// `docs/planning-inputs.md`: every input of a plan, with what stands in for it.
package enum InputsPage {
    package static var text: String {
        var text = """
            # Inputs of a plan

            Made from `Sources/Planning/Planner/Demand/ScenarioInput+Table.swift` by `scripts/generate-docs`; change that,
            then run it.

            Any of them may be missing from a scenario; what stands in for it then is in the third column,
            with the least and the most it may be in brackets, and where that comes from in the last.
            [planning](planning.md) says what becomes of them. What is within
            \(Scenario.plain(ScenarioValues.negligible)) of 0 counts as 0.

            | input | meaning | otherwise | allowed | source |
            | --- | --- | --- | --- | --- |

            """
        for row in ScenarioInput.table {
            let unit = row.unit.isEmpty ? "" : " \(row.unit)"
            let allowed =
                "\(Scenario.plain(row.allowed.lowerBound)) to "
                + "\(Scenario.plain(row.allowed.upperBound))\(unit)"
            let (otherwise, source) = standard(row)
            text +=
                "| `\(row.path)` | \(row.help) | \(otherwise) | \(allowed) | \(source) |\n"
        }
        return text + others
    }

    private static func standard(_ row: ScenarioInput.Row) -> (String, String) {
        switch row.standard {
        case .none(let meaning): return (meaning, "")
        case .value(let value):
            let text = Quantity.estimate(
                low: value.low, likely: value.likely, high: value.high, unit: row.unit)
            return (text, row.source)
        }
    }

    private static var others: String {
        let actions = Scenario.standardActions.map { action in
            "`\(action.name)` \(Scenario.plain(action.perDay.likely)) times, "
                + "\(Scenario.plain(action.requests.likely)) requests, "
                + "\(Scenario.plain(action.bytes.likely / 1e6)) MB"
        }.joined(separator: "; ")
        let ladder = Scenario.appleLadder.map { Scenario.plain($0) }.joined(separator: ", ")
        let codecs = VideoCodec.allCases.map {
            "`\($0.rawValue)` \(Scenario.plain($0.compression))"
        }.joined(separator: ", ")
        return """

            What is not one number:

            | input | meaning | otherwise |
            | --- | --- | --- |
            | `name` | what the plan is called | `plan` |
            | `actions` | what a day's user does besides watching: `name`, `perDay`, `requests`, `bytes` | \
            \(actions) (assumption) |
            | `media.ladderKilobitsPerSecond` | bit rates of the renditions | that of a picture; else \
            `media.kilobitsPerSecond` alone where it is given; else Apple's: \(ladder) |
            | `onDemand.correction` | how waits are corrected for variation: `kimura`, `allen-cunneen` | `kimura` |
            | `media.codec` | compression of a picture, over 24 bits a pixel: \(codecs) | `h264` |
            | `money.provider`, `money.originProvider` | whose prices count | all, side by side; the same |
            | `money.currency`, `money.exchange`, `money.exchangeDate` | what to reckon in, what one unit \
            of another currency is worth in it, and when | every amount in its own |

            """
    }
}
