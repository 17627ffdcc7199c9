import Planner
import Rendering

/// `docs/planning-inputs.md`: every input of a plan with its default.
package enum InputsPage {
    package static var text: String {
        var text = """
            # Inputs of a plan

            Generated from `Sources/Planning/Planner/Demand/ScenarioInput+Table.swift` by `scripts/generate-docs`; change that file,
            then run the script.

            All inputs are optional. The third column has the default, with its minimum and maximum in brackets;
            the last column has its source.
            [planning](planning.md) describes their use. Values within
            \(Scenario.plain(ScenarioValues.negligible)) of 0 count as 0.

            | input | meaning | default | allowed | source |
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

            Inputs that are not a single number:

            | input | meaning | default |
            | --- | --- | --- |
            | `name` | name of the plan | `plan` |
            | `actions` | actions of a daily user besides watching: `name`, `perDay`, `requests`, `bytes` | \
            \(actions) (assumption) |
            | `media.ladderKilobitsPerSecond` | bit rates of the renditions | that of a picture; else \
            `media.kilobitsPerSecond` alone if given; else Apple's: \(ladder) |
            | `onDemand.correction` | correction of waits for variation: `kimura`, `allen-cunneen` | `kimura` |
            | `media.codec` | compression of a picture, over 24 bits per pixel: \(codecs) | `h264` |
            | `money.provider`, `money.originProvider` | providers for prices | all, side by side; the same |
            | `money.currency`, `money.exchange`, `money.exchangeDate` | currency of totals, value of one unit \
            of another currency in it, and date | each amount in its own |

            """
    }
}
