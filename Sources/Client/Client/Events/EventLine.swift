package import API
import FoundationEssentials
import Model
import Rendering
import Services
import Text

/// An event as one line for people, or for programs.
package enum EventLine {
    /// Formats an event: time, kind, and what it is about.
    ///
    ///     2026-11-26T15:04:05.123Z  asset.failed       movies: film (origin.http.404: not found)
    package static func text(_ event: ClusterEvent) -> String {
        let kind = TextLayout.padded(event.kind.rawValue, to: kindColumns)
        return "\(timestamp(ofSeconds: event.time))  \(kind)  \(printable(subject(event)))"
            + detail(event) + "\n"
    }

    private static let kindColumns = EventKind.all.map(\.rawValue.count).max() ?? 0

    /// Encodes an event as a JSON object on one line.
    package static func json(_ event: ClusterEvent) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(event), as: UTF8.self) + "\n"
    }

    private static func subject(_ event: ClusterEvent) -> String {
        let catalog = event.catalogName ?? event.catalog.map { "catalog \($0)" }
        switch event.kind.subject {
        case "catalog": return catalog ?? ""
        case "asset":
            let name = event.name ?? event.asset.map { "asset \($0)" } ?? assets(event)
            return (catalog.map { "\($0): " } ?? "") + name
        case "worker": return event.name ?? event.worker?.description ?? ""
        case "origin": return event.name ?? ""
        default: return event.site ?? ""
        }
    }

    private static func assets(_ event: ClusterEvent) -> String {
        HumanFormat.count(event.assets ?? 0, "asset")
    }

    private static func detail(_ event: ClusterEvent) -> String {
        var parts: [String] = []
        if event.kind.subject == "catalog", let assets = event.assets, assets > 0 {
            parts.append(HumanFormat.count(assets, "asset"))
        }
        if let failed = event.failed, failed > 0 {
            parts.append("\(HumanFormat.count(failed)) failed")
        }
        if let code = event.code {
            parts.append(
                "\(code)" + (event.message.map { ": \(Redaction.message($0))" } ?? ""))
        } else if let message = event.message {
            parts.append(Redaction.message(message))
        }
        return parts.isEmpty ? "" : " (\(printable(parts.joined(separator: ", "))))"
    }
}
