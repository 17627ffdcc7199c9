import API
import Model
import QueueSQL

/// The queue's SQL: every statement is in a file under `SQL/`, embedded in the binary. The
/// placeholders `{{…}}` are filled from Model's tables, so that guards cannot drift from them.
enum SQL {
    /// `common.sql`: fragments for all files.
    static let common = parsed { () throws(SQLFile.Malformed) in
        try SQLFile(sql_common().text, SQLPlaceholders(texts: texts))
    }

    static func file(_ file: EmbeddedFile) -> SQLFile {
        parsed { () throws(SQLFile.Malformed) in try SQLFile(file.text, common.placeholders) }
    }

    /// The files are part of the binary: an unreadable one is a programmer's error.
    fileprivate static func parsed<Value>(_ parse: () throws(SQLFile.Malformed) -> Value) -> Value {
        do throws(SQLFile.Malformed) {
            return try parse()
        } catch {
            preconditionFailure("a file of SQL cannot be read: \(error)")
        }
    }

    fileprivate static func filled(
        _ template: String, of file: SQLFile, _ texts: [String: String], isPrepared: Bool = false
    ) -> SQLStatement {
        parsed { () throws(SQLFile.Malformed) in
            try file.filled(template, texts, isPrepared: isPrepared)
        }
    }

    /// States of assets that have neither failed nor been cancelled, and that a start resumes.
    private static let unfailed = AssetState.machine.sources(of: .refuse).filter {
        ![.failed, .cancelled].contains($0)
    }

    private static let texts: [String: String] = [
        // After every segment that a manifest may have.
        "firstSidecar": "\(WireLimits.segmentsPerAsset)",
        "longestValidator": "\(WireLimits.validatorCharacters)",
        "maxRefreshFailures": "\(RefreshSummary.maxFailures)",
        "tokenInPath": SignedPatterns.path(withTokens: true),
        "eventsPerChange": "\(WireLimits.eventsPerChange)",
        "outdatingFailures": list(FailureCode.table.map(\.code).filter(\.outdatesStored)),

        "assetUnderWay": list(AssetState.machine.sources(of: .progressed)),
        // A refresh that publishes its files continues.
        "assetCancellable": list(AssetState.machine.sources(of: .cancel)),
        "assetUnsettled":
            list(AssetState.allCases.filter { !$0.isSettled && !$0.isPurging }),
        // Workers delete their files.
        "assetPurging": list(AssetState.allCases.filter(\.isPurging)),
        // Their files are gone.
        "assetCleared": list(AssetState.allCases.filter(\.isCleared)),
        // No file of the edge is theirs.
        "assetGone": list(AssetState.allCases.filter(\.isGone)),
        "assetRemovable": list(AssetState.machine.sources(of: .remove)),
        "assetInterruptible":
            list(AssetState.machine.sources(of: .interrupt).filter { !$0.isSettled }),
        // Nothing of them failed, and a start resumes them; a refresh does not.
        "assetInterrupted": list(unfailed),
        // Nothing of them is stored or running.
        "assetRefusable": list(AssetState.machine.sources(of: .refuse)),
        // A start gives them jobs: nothing of them is running.
        "assetStartable": list(AssetState.machine.sources(of: .refuse) + [.completed]),
        // A retry starts them.
        "assetRetryable":
            list(AssetState.machine.sources(of: .refuse).filter { !unfailed.contains($0) }),
        // Their files may turn out to be damaged, and a retry fetches these.
        "assetLosable": list(AssetState.machine.sources(of: .lose) + [.failed]),
        "assetResolvable": list(AssetState.machine.sources(of: .resolved)),
        "assetRefreshing": list(AssetState.machine.targets(of: .refresh, .publish)),
        // All their files are at the edge.
        "assetWhole":
            list(
                AssetState.machine.sources(of: .refresh)
                    + AssetState.machine.targets(of: .refresh, .publish)),
        // Their files are published and do not change now.
        "assetStored":
            list(
                AssetState.machine.sources(of: .refresh) + AssetState.machine.targets(of: .refresh)),
        "assetEnded": list(AssetState.machine.targets(of: .finished, .gaveUp)),
        // Some of their files may be stored.
        "assetIncomplete":
            list(AssetState.allCases.filter { $0.isSettled && !$0.isGone && $0 != .completed }),
        // A worker may still store a file that it had when they ended.
        "assetEndedEarly": list([AssetState.interrupted, .cancelled]),
        // A start resumes what was received for them.
        "assetResumable": list([AssetState.interrupted, .failed]),
        // No job resumes the bodies that were received for them.
        "assetUnresumable":
            list(AssetState.allCases.filter { $0 == .completed || $0 == .cancelled || $0.isGone }),
        // The key of what is to be deleted and has none: the interrupted bodies of assets.
        "bodiesKey": "'.dray/partial'",
        // Nothing of theirs is to be deleted, or is written or deleted now.
        "assetUntouchable":
            list(
                AssetState.allCases.filter { $0 == .new || $0 == .publishing || $0.isPurging }),
        "assetHolding":
            list(
                AssetState.allCases.filter {
                    $0 == .completed || !$0.isSettled && !$0.isPurging && $0 != .new
                }),

        "catalogCancellable": list(CatalogState.machine.sources(of: .cancel)),
        // Nothing of it is under way, and a removal lets it run again.
        "catalogSettled": list(CatalogState.allCases.filter(\.isTerminal)),
        // A schedule refreshes its assets.
        "catalogRefreshable": list(CatalogState.machine.targets(of: .finished, .gaveUp)),
        "catalogEnded": list(CatalogState.allCases.filter { ![.open, .running].contains($0) }),
        // It serves only a job that tries it.
        "breakerOpen": list(OriginBreaker.machine.sources(of: .probe)),
        // They have a segment, whose file a worker may store.
        "jobOfSegment": list(JobKind.allCases.filter(\.isOfSegment)),
        "jobOfAsset": list(JobKind.allCases.filter(\.isOfAsset)),
        "jobOfTitle": list(JobKind.allCases.filter(\.readsManifest)),
        // A recording without one of them has no gap, but fails.
        "roleShared": list(SegmentRole.allCases.filter(\.isShared)),
        "cacheStored": list(CacheAnswer.State.allCases.filter(\.isStored)),
        "cacheUnstored": list(CacheAnswer.State.allCases.filter(\.isUnstored)),
        "checksumsUnwritten": list(ChecksumFileState.allCases.filter { $0 != .written }),
        "auditDamage": list(AuditFindingKind.allCases.filter(\.isDamage)),
        "auditRepaired": list(AuditRepair.allCases.filter(\.isRepaired)),
        "loadTestStartable": list(LoadTestState.machine.sources(of: .start)),
        "loadTestStoppable": list(LoadTestState.machine.sources(of: .stop)),
        "loadTestEndable": list(LoadTestState.machine.sources(of: .end)),
        "loadShardDismissible": list(LoadShardState.machine.sources(of: .dismiss)),
        "loadShardUnderWay":
            list(
                LoadShardState.allCases.filter { !LoadShardState.machine.terminal.contains($0) }),
    ].merging(SQLObjects.texts) { _, object in object }.merging(failureCodes) { _, code in code }

    /// Each failure code by its name: `{{storage.full}}`.
    private static let failureCodes = Dictionary(
        uniqueKeysWithValues: FailureCode.table.map { ($0.code.rawValue, list([$0.code])) })

    /// Returns an SQL list of quoted names; they are Swift identifiers or failure codes, so quoting them is
    /// safe.
    private static func list<Name: RawRepresentable<String>>(_ names: [Name]) -> String {
        names.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    }
}

extension SQLFile {
    /// Reads a file that is part of the binary: an unreadable one is a programmer's error.
    package init(embedded bytes: [UInt8]) {
        self = SQL.parsed { () throws(Malformed) in try SQLFile(bytes) }
    }
}

extension EmbeddedFile {
    var text: [UInt8] { [UInt8](UnsafeBufferPointer(start: bytes, count: count)) }
}

// MARK: Templates

extension SQL.Schema {
    /// Returns the statement that grants a coordinator's role its privileges; both are identifiers.
    static func grant(schema: String, role: String) -> SQLStatement {
        SQL.filled("grant", of: file, ["schema": schema, "role": role])
    }
}

extension SQL.Browsing {
    /// Returns the statement for a page of a catalog's assets in this order.
    static func assets(by order: AssetQuery.Order, isDescending: Bool) -> SQLStatement {
        guard let statement = listings[Listing(order: order, isDescending: isDescending)] else {
            preconditionFailure("no listing by \(order)")
        }
        return statement
    }

    private struct Listing: Hashable {
        var order: AssetQuery.Order
        var isDescending: Bool
    }

    private static let listings: [Listing: SQLStatement] = {
        var statements: [Listing: SQLStatement] = [:]
        for order in AssetQuery.Order.allCases {
            for isDescending in [false, true] {
                statements[Listing(order: order, isDescending: isDescending)] = listing(
                    order, isDescending)
            }
        }
        return statements
    }()

    private static func listing(
        _ order: AssetQuery.Order, _ isDescending: Bool
    ) -> SQLStatement {
        let value =
            switch order {
            case .name: ""
            case .bytes: "coalesce(nullif(a.bytes, 0), a.expected_bytes, 0)"
            case .changed: "(extract(epoch FROM a.changed_at) * 1000000)::bigint"
            }
        let last = "(SELECT max(a.name) || '0' FROM asset a WHERE a.catalog_id = @catalog::bigint)"
        return SQL.filled(
            order == .name ? "assetsByName" : "assetsByValue", of: file,
            [
                "value": value, "beyond": isDescending ? "<" : ">",
                "beginning": isDescending ? last : "''",
                "direction": isDescending ? "DESC" : "ASC",
            ])
    }
}

extension SQL.Status {
    /// The statements about the status of some catalogs, for `StatusReader`.
    struct OfCatalogs {
        let status: SQLStatement
        let waits: SQLStatement
        let limits: SQLStatement

        fileprivate init(_ chosen: String) {
            func filled(_ template: String) -> SQLStatement {
                SQL.filled(template, of: file, ["chosen": chosen], isPrepared: true)
            }
            status = filled("status")
            waits = filled("waits")
            limits = filled("limits")
        }
    }

    /// Those of `@catalog`. They are apart from the others because PostgreSQL's one plan for both
    /// would be slow.
    static let ofOne = OfCatalogs("SELECT * FROM catalog WHERE id = @catalog::bigint")
    static let ofLatest = OfCatalogs("SELECT * FROM catalog ORDER BY id DESC LIMIT 100")
}
