import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Text

/// `dray catalog list`: lists the latest catalogs, with what each waits for.
enum CatalogListCommand {
    static let command = Command(
        "list", summary: "List the latest 100 catalogs, and what each waits for.",
        discussion: ClusterCall.privateClusterHelp, options: ClusterCall.listOptions
    ) { arguments in
        await ClusterCall.run(arguments, isCheck: false, workers: 0) { client, isPrivate in
            let catalogs = try await client.clusterStatus(retrySeconds: ClusterCall.retrySeconds)
                .catalogs
            return try ClusterCall.show(
                ["catalogs": catalogs], arguments, csv: { ListCSV.catalogs(catalogs) },
                as: { text(catalogs, isIdle: isPrivate) })
        }
    }

    /// Formats a row for each catalog; the last column has its waits and its deadline.
    ///
    /// - Parameter isIdle: true for a private cluster that was started for this answer.
    static func text(_ catalogs: [CatalogStatus], isIdle: Bool = false) -> String {
        ClusterCall.section(
            "Catalogs",
            ["Number", "Name", "State", "Completed", "Failed", "Bytes", "Queue", "Notes"],
            [.right, .left, .left, .right, .right, .right, .left, .left],
            catalogs.map { catalog in
                let notes =
                    catalog.isUnderWay ? StatusCommand.lines(catalog, isIdle: isIdle) : []
                return [
                    catalog.id.description, printable(catalog.name), catalog.shownState,
                    StatusCommand.completed(catalog),
                    HumanFormat.count(catalog.totals.failed),
                    HumanFormat.bytes(catalog.totals.bytes), printable(catalog.queue),
                    notes.isEmpty ? "–" : notes.joined(separator: "; "),
                ]
            })
    }
}
