import Model
import Testing
import Transfer

@Suite struct StateMachineTests {
    @Test func assetMachineIsSound() throws {
        try check(AssetState.machine, terminal: [], source: "AssetState")
    }

    @Test func catalogMachineIsSound() throws {
        try check(CatalogState.machine, terminal: [], source: "CatalogState")
    }

    @Test func transferMachineIsSound() throws {
        try check(
            TransferState.machine, terminal: [.fetched, .unchanged, .failed],
            source: "TransferState", in: "Content/Transfer/Engine")
    }

    @Test func loadTestMachineIsSound() throws {
        try check(LoadTestState.machine, terminal: [.ended], source: "LoadTestState")
    }

    @Test func loadShardMachineIsSound() throws {
        try check(
            LoadShardState.machine, terminal: [.finished, .failed, .lost, .dismissed],
            source: "LoadShardState")
    }

    @Test func queueMachineIsSound() throws {
        try check(QueueState.machine, terminal: [], source: "QueueState")
    }

    @Test func circuitBreakerMachineIsSound() throws {
        try check(OriginBreaker.machine, terminal: [], source: "OriginBreaker")
    }

    @Test func auditMachineIsSound() throws {
        try check(
            SiteAuditState.machine, terminal: [.completed, .failed, .cancelled],
            source: "SiteAuditState")
    }

    @Test func webhookDeliveryMachineIsSound() throws {
        try check(WebhookDeliveryState.machine, terminal: [], source: "WebhookDeliveryState")
    }

    @Test func checksumFileMachineIsSound() throws {
        try check(ChecksumFileState.machine, terminal: [], source: "ChecksumFileState")
    }

    @Test func anEventMayLeadToOneStateOrToSeveral() {
        #expect(SiteAuditState.machine.target(of: .fail) == .failed)
        #expect(AssetState.machine.target(of: .purged) == nil)
    }

    /// Walks every state and event of one machine.
    private func check<State, Event>(
        _ machine: StateMachine<State, Event>, terminal: [State], source: String,
        in target: String = "Base/Model/States"
    ) throws {
        let comments = try SourceTree.caseComments(
            of: "\(State.self)", in: "Sources/\(target)/\(source).swift")
        var used: Set<Event> = []
        for state in State.allCases {
            #expect(machine.table[state] != nil || terminal.contains(state))
            var targets: Set<State> = []
            for event in Event.allCases {
                let next = machine.next(state, event)
                #expect(next == machine.table[state]?[event])
                #expect(machine.sources(of: event).contains(state) == (next != nil))
                guard let next else { continue }
                #expect(machine.events(from: state, to: next).contains(event))
                targets.insert(next)
                used.insert(event)
            }
            // The doc comment of each state lists its next states correctly.
            let comment = try #require(comments[state.rawValue])
            let claim = comment.components(after: "Can move to ")
            #expect(
                claim == (targets.isEmpty ? ["nothing"] : Set(targets.map(\.rawValue))),
                "\(machine.name) \(state.rawValue): \(comment)")
        }
        #expect(used == Set(Event.allCases), "an event that nothing allows")
        #expect(machine.terminal == terminal)
        #expect(reachable(machine, from: machine.initial) == Set(State.allCases))
    }

    private func reachable<State, Event>(
        _ machine: StateMachine<State, Event>, from start: State
    ) -> Set<State> {
        var seen: Set<State> = [start]
        var open = [start]
        while let state = open.popLast() {
            for next in (machine.table[state] ?? [:]).values where seen.insert(next).inserted {
                open.append(next)
            }
        }
        return seen
    }

    @Test func everyAssetCanBeCompleted() {
        for state in AssetState.allCases {
            #expect(reachable(AssetState.machine, from: state).contains(.completed), "\(state)")
        }
    }

    @Test func noTransferIsFetchedBeforeItIsChecked() {
        // Without the check's outcome, nothing is ever handed out to be stored.
        var table = TransferState.machine.table
        table[.checking]?[.agree] = nil
        let crippled = StateMachine<TransferState, TransferEvent>(
            name: "transfer", initial: .queued, table: table)
        #expect(!reachable(crippled, from: .queued).contains(.fetched))
    }

    @Test func settledAssetStatesWaitForAnOperatorOrClient() {
        // A settled state is left by an event from outside, never by a worker's result.
        let byWorkers: [AssetEvent] = [.progressed, .partsStored, .finished, .gaveUp]
        for state in AssetState.allCases where state.isSettled {
            for event in byWorkers { #expect(AssetState.machine.next(state, event) == nil) }
        }
    }
}

extension String {
    /// The words of a list that follows `prefix` up to the full stop.
    fileprivate func components(after prefix: String) -> Set<String> {
        guard let start = firstRange(of: prefix) else { return [] }
        return Set(
            self[start.upperBound...].prefix { $0 != "." }
                .split(separator: ",").map { $0.trimmingPrefix { $0 == " " } }.map(String.init))
    }
}
