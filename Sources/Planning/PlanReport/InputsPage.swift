import Planner
import Rendering

/// `docs/planning-inputs.md`: every input of a plan with its default.
package enum InputsPage {
    package static var text: String {
        var text = """
            # Inputs of a plan

            Generated from `Sources/Planning/Planner/Demand/ScenarioInput+Table.swift` by `scripts/generate-docs`; change that file,
            then run the script.

            All inputs are optional. The third column has the default for titles on demand, with its minimum and
            maximum in brackets; the last column has its source. `service` selects other defaults, below.
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
            let (otherwise, source) = standard(
                ServiceKind.Default(standard: row.standard, source: row.source), unit: row.unit)
            text +=
                "| `\(row.path)` | \(row.help) | \(otherwise) | \(allowed) | \(source) |\n"
        }
        return text + services + others
    }

    private static func standard(
        _ standard: ServiceKind.Default, unit: String
    ) -> (String, String) {
        switch standard.standard {
        case .none(let meaning): return (meaning, "")
        case .value(let value):
            let text = Quantity.estimate(
                low: value.low, likely: value.likely, high: value.high, unit: unit)
            return (text, standard.source)
        }
    }

    /// The defaults of the other kinds of service.
    private static var services: String {
        var text = """

            Defaults of other kinds of service (`"service": "live"`, `--service live`):

            | service | input | default | source |
            | --- | --- | --- | --- |

            """
        for service in ServiceKind.allCases where service != .vod {
            for row in ScenarioInput.table {
                let own = service.standard(row.input)
                guard own.standard != row.standard || own.source != row.source else { continue }
                let (value, source) = standard(own, unit: row.unit)
                text += "| `\(service.rawValue)` | `\(row.path)` | \(value) | \(source) |\n"
            }
        }
        let downloads = ServiceKind.downloads
        return text
            + "| `downloads` | `actions` | \(actions(downloads.actions)) | "
            + "\(downloads.actionsSource) |\n"
    }

    private static func actions(_ actions: [Scenario.UserAction]) -> String {
        actions.map { action in
            "`\(action.name)` \(Scenario.plain(action.perDay.likely)) times, "
                + "\(Scenario.plain(action.requests.likely)) requests, "
                + "\(Scenario.plain(action.bytes.likely / 1e6)) MB"
        }.joined(separator: "; ")
    }

    private static var others: String {
        let ladder = Scenario.appleLadder.map { Scenario.plain($0) }.joined(separator: ", ")
        let kinds = ServiceKind.allCases.map { "`\($0.rawValue)` (\($0.help))" }
            .joined(separator: ", ")
        let codecs = VideoCodec.allCases.map {
            "`\($0.rawValue)` \(Scenario.plain($0.compression))"
        }.joined(separator: ", ")
        return """

            Inputs that are not a single number:

            | input | meaning | default |
            | --- | --- | --- |
            | `name` | name of the plan | `plan` |
            | `actions` | actions of a daily user besides watching: `name`, `perDay`, `requests`, `bytes` | \
            \(actions(Scenario.standardActions)) (assumption) |
            | `service` | kind of service: \(kinds) | `vod` |
            | `media.ladderKilobitsPerSecond` | bit rates of the stored renditions | that of a picture; else \
            Apple's: \(ladder); with `media.kilobitsPerSecond` if that is outside |
            | `onDemand.correction` | correction of waits for variation: `kimura`, `allen-cunneen` | `kimura` |
            | `media.codec` | compression of a picture, over 24 bits per pixel: \(codecs) | `h264` |
            | `money.provider`, `money.originProvider` | providers for prices | all, side by side; the same |
            | `money.currency`, `money.exchange`, `money.exchangeDate` | currency of totals, value of one unit \
            of another currency in it, and date | each amount in its own |

            """
    }
}
