package import API
import CommandLine
package import CoordinatorClient
import FoundationEssentials
package import Model
import Rendering
import Services
import Text

/// Removes assets of a catalog, follows the deletion of their files, and reports what it freed. It
/// is a service, like `PrefetchSession`.
package final class RemovalSession: FollowingSession {
    package let name = "removal"

    package struct Plan: Sendable {
        package var selection: SelectionAction
        package var printsJSON: Bool
        package var isQuiet: Bool
        package var isEmbedded: Bool
        /// True to ask on the terminal before files are deleted.
        package var asks: Bool

        package init(
            _ selection: SelectionAction, printsJSON: Bool, isQuiet: Bool, isEmbedded: Bool,
            asks: Bool
        ) {
            self.asks = asks
            self.selection = selection
            self.printsJSON = printsJSON
            self.isQuiet = isQuiet
            self.isEmbedded = isEmbedded
        }
    }

    package var messages: InterruptMessages { .removal(isEmbedded: plan.isEmbedded) }

    private let plan: Plan
    private let makeClient: @Sendable () throws -> CoordinatorClient
    private let display: ProgressDisplay
    package let state: SessionState

    /// Creates a session; `makeClient` is called once the cluster runs.
    package init(
        _ plan: Plan, display: ProgressDisplay,
        makeClient: @escaping @Sendable () throws -> CoordinatorClient
    ) {
        self.plan = plan
        state = SessionState(isEmbedded: plan.isEmbedded)
        self.display = display
        self.makeClient = makeClient
    }

    package func run() async throws {
        state.begin()
        defer { state.end() }
        let client = try makeClient()
        defer { client.shutdown() }
        defer { display.end() }
        // An absent cluster is retried only briefly: its name may be mistyped.
        try await client.readiness(retrySeconds: 3)
        guard try await isConfirmed(client) else {
            return state.set(state.draining.isDraining ? .interrupted : .usage)
        }
        let answer = try await client.apply(plan.selection, retrySeconds: 10)
        let assets = try await underWay(answer, client)
        guard assets > 0, let catalog = answer.catalog else {
            display.end()
            try report(Outcome(0, nil, selectsSome: selectsSome))
            return state.set(.success)
        }
        state.detachment.begin()
        let status = try await follow(catalog, client)
        state.detachment.end()
        display.end()
        if let status {
            try report(Outcome(assets, status))
            state.set(.success)
        } else {
            if !plan.isEmbedded {
                Console.note(
                    "the cluster continues to delete files. Progress: \(CatalogHints.follow) "
                        + "\(catalog)")
            }
            state.set(state.detachment.hasHappened ? .success : .interrupted)
        }
    }

    /// Returns how many assets are to be followed: those of the answer or, without any, those of the
    /// catalog whose removal an earlier command has begun, if the selection has some of them.
    private func underWay(
        _ answer: SelectionAnswer, _ client: CoordinatorClient
    ) async throws(Failure) -> Int {
        guard answer.assets == 0, let catalog = answer.catalog else { return answer.assets }
        let status = try await client.status(of: catalog, withActive: false, retrySeconds: 10)
        guard let removing = status.totals.removing, removing > 0 else { return 0 }
        guard try await selectsPurging(of: catalog, client) else {
            display.note(
                "an earlier removal of other assets of this catalog has not ended; to follow it: "
                    + "`dray assets remove \(catalog) --state \(AssetState.removing.rawValue)`")
            return 0
        }
        display.note("nothing else to remove; an earlier removal of this catalog continues")
        return removing
    }

    /// Returns true if the selection has assets of the catalog whose files are being deleted.
    private func selectsPurging(
        of catalog: CatalogID, _ client: CoordinatorClient
    ) async throws(Failure) -> Bool {
        guard var query = Self.purging(plan.selection, of: catalog) else { return false }
        // A page may be empty before the last one.
        repeat {
            let page = try await client.assets(query, retrySeconds: 10)
            guard page.assets.isEmpty else { return true }
            query.after = page.next
        } while query.after != nil
        return false
    }

    /// Returns a query for the assets of a selection whose files are being deleted; nil if it has
    /// none of them.
    static func purging(_ selection: SelectionAction, of catalog: CatalogID) -> AssetQuery? {
        var query = AssetQuery(CatalogReference(catalog))
        query.states.states = AssetState.allCases.filter {
            $0.isPurging && selection.states?.contains($0.rawValue) ?? true
        }
        query.name = selection.name
        query.failureCode = selection.failureCode?.rawValue
        query.limit = 1
        return query.states.isEmpty ? nil : query
    }

    /// Asks, if the plan says so, once it is known that there is such a catalog. Throws a
    /// `UsageError` without a terminal.
    private func isConfirmed(_ client: CoordinatorClient) async throws -> Bool {
        guard plan.asks, let catalog = plan.selection.catalog else { return true }
        try await Self.checkKnown(catalog, client)
        let name = printable(catalog.name ?? catalog.id.map { "\($0)" } ?? "")
        let files = selectsSome ? "the files of the selected assets" : "all files"
        let question = "dray: delete \(files) of catalog \(name) from the edge? (y or n) "
        let (draining, unconfirmed) = (state.draining, self.unconfirmed)
        let isConfirmed = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await Confirmation.ask(question, else: unconfirmed) }
            group.addTask {
                await draining.wait()
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        if !isConfirmed { Console.note("nothing was removed") }
        return isConfirmed
    }

    /// True if the selection may leave out assets of the catalog.
    private var selectsSome: Bool {
        let selection = plan.selection
        return selection.name != nil || selection.states != nil || selection.failureCode != nil
    }

    private var unconfirmed: UsageError {
        guard selectsSome else {
            return UsageError(
                "removing a catalog deletes all its files from the edge",
                hint: "Add --yes to confirm, or keep the files: `dray catalog forget`.")
        }
        return UsageError(
            "removing assets deletes their files from the edge",
            hint: "Add --yes to confirm; `dray assets list` shows what the same options select.")
    }

    /// Throws `input.notFound` or `input.ambiguous` for a catalog that cannot be meant.
    package static func checkKnown(
        _ catalog: CatalogReference, _ client: CoordinatorClient
    ) async throws(Failure) {
        var query = AssetQuery(catalog)
        query.limit = 1
        _ = try await client.assets(query, retrySeconds: 2)
    }

    /// Polls the status until the files are gone and the checksum files are written; returns nil if
    /// draining started first.
    private func follow(
        _ catalog: CatalogID, _ client: CoordinatorClient
    ) async throws(Failure) -> CatalogStatus? {
        let began = ContinuousClock.now
        while !state.draining.isDraining, !Task.isCancelled {
            do throws(Failure) {
                let status = try await client.status(
                    of: catalog, withActive: false, retrySeconds: 0.01)
                display.show(status)
                if Self.isOver(status) { return status }
            } catch {
                guard error.code.isOfUnavailableCluster else { throw error }
                display.showNoAnswer(printable(error.message), of: catalog)
            }
            let elapsed = (ContinuousClock.now - began) / .seconds(1)
            _ = await state.draining.wait(atMost: .seconds(min(1, 0.05 + elapsed / 20)))
        }
        return nil
    }

    /// A catalog that fetches other assets continues.
    private static func isOver(_ status: CatalogStatus) -> Bool {
        let totals = status.totals
        return totals.removing == nil
            && (status.state != .running || totals.ended < totals.assets)
    }

    private func report(_ outcome: Outcome) throws {
        if plan.printsJSON {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            Console.write(String(decoding: try encoder.encode(outcome), as: UTF8.self) + "\n")
        } else if !plan.isQuiet {
            Console.write(outcome.text)
        }
    }

    /// The output.
    struct Outcome: Encodable {
        let assets: Int
        let freedFiles: Int
        let freedBytes: Int64

        /// True if the selection may leave out assets of the catalog.
        private let selectsSome: Bool

        private enum CodingKeys: String, CodingKey {
            case assets, freedFiles, freedBytes
        }

        init(_ assets: Int, _ status: CatalogStatus?, selectsSome: Bool = false) {
            self.assets = assets
            self.selectsSome = selectsSome
            freedFiles = status?.totals.freedFiles ?? 0
            freedBytes = status?.totals.freedBytes ?? 0
        }

        var text: String {
            guard assets > 0 else {
                return selectsSome
                    ? "Nothing to remove: no asset matches, or none that can be removed.\n"
                    : "Nothing to remove.\n"
            }
            return "Removed: \(HumanFormat.count(assets, "asset")); freed "
                + "\(HumanFormat.count(freedFiles, "file")), "
                + "\(HumanFormat.bytes(freedBytes)).\n"
        }
    }
}
