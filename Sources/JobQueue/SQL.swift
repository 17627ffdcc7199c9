import FoundationEssentials
import Model

/// The queue's SQL: every statement is a file under `SQL/`, embedded in the binary; the placeholders
/// `{{…}}` are filled from Model's tables, so that guards cannot drift from them.
enum SQL {
    /// Fills the placeholders of an embedded statement.
    static func text(_ bytes: [UInt8]) -> String {
        text(bytes, substitutions)
    }

    /// Reports of results whose segments may have results already, which the plain statement refuses.
    static let settleDoneAgain = text(
        PackageResources.settle_done_sql,
        ["replacingResults": fragment(PackageResources.fragment_replacing_results_sql)])
    static let settleDone = text(PackageResources.settle_done_sql, ["replacingResults": ""])

    /// The statements of `JobQueue.browse`.
    struct Browse: Hashable {
        var order: AssetQuery.Order
        var isDescending: Bool
    }

    static func browse(_ order: AssetQuery.Order, isDescending: Bool) -> String {
        browsing[Browse(order: order, isDescending: isDescending)] ?? ""
    }

    private static let browsing: [Browse: String] = {
        var texts: [Browse: String] = [:]
        for order in AssetQuery.Order.allCases {
            for isDescending in [false, true] {
                texts[Browse(order: order, isDescending: isDescending)] = browse(
                    order, isDescending)
            }
        }
        return texts
    }()

    private static func browse(_ order: AssetQuery.Order, _ isDescending: Bool) -> String {
        let template: [UInt8]
        let value: String
        switch order {
        case .name:
            template = PackageResources.assets_by_name_sql
            value = ""
        case .bytes:
            template = PackageResources.assets_by_value_sql
            value = "coalesce(nullif(a.bytes, 0), a.expected_bytes, 0)"
        case .changed:
            template = PackageResources.assets_by_value_sql
            value = "(extract(epoch FROM a.changed_at) * 1000000)::bigint"
        }
        let last = "(SELECT max(a.name) || '0' FROM asset a WHERE a.catalog_id = $1::bigint)"
        return text(
            template,
            [
                "assetColumns": fragment(PackageResources.fragment_asset_columns_sql),
                "assetsFiltered": fragment(PackageResources.fragment_assets_filtered_sql),
                "value": value, "beyond": isDescending ? "<" : ">",
                "before": isDescending ? ">" : "<", "farthest": isDescending ? "min" : "max",
                "beginning": isDescending ? last : "''",
                "direction": isDescending ? "DESC" : "ASC",
            ])
    }

    /// What a coordinator's role needs; both are identifiers.
    static func grant(schema: String, role: String) -> String {
        text(PackageResources.schema_grant_sql, ["schema": schema, "role": role])
    }

    /// Other placeholders stay, for whoever fills them.
    private static func text(_ bytes: [UInt8], _ values: [String: String]) -> String {
        var filled: [UInt8] = []
        filled.reserveCapacity(bytes.count * 2)
        fill(bytes[...], values, into: &filled)
        return String(decoding: filled, as: UTF8.self)
    }

    /// One pass over the bytes: every process fills each statement when it first needs it, so this is
    /// part of how soon a cluster is there. Values may hold placeholders of their own.
    private static func fill(
        _ bytes: ArraySlice<UInt8>, _ values: [String: String], into filled: inout [UInt8]
    ) {
        var rest = bytes
        while let open = rest.firstIndex(of: UInt8(ascii: "{")) {
            filled += rest[..<open]
            rest = rest[open...]
            guard rest.starts(with: "{{".utf8),
                let close = rest.firstIndex(of: UInt8(ascii: "}")),
                rest[close...].starts(with: "}}".utf8),
                let value = values[String(decoding: rest[(open + 2)..<close], as: UTF8.self)]
            else {
                filled.append(rest.removeFirst())
                continue
            }
            fill(Array(value.utf8)[...], values, into: &filled)
            rest = rest[(close + 2)...]
        }
        filled += rest
    }

    private static let substitutions: [String: String] = [
        "sidecars": fragment(PackageResources.fragment_sidecars_sql),
        "manifestServed": fragment(PackageResources.fragment_manifest_served_sql),
        // Behind every segment that a manifest may have.
        "firstSidecar": "\(WireLimits.segmentsPerAsset)",
        "settleFetches": fragment(PackageResources.fragment_settle_fetches_sql),
        "jobOfEach": fragment(PackageResources.fragment_job_of_each_sql),
        "heldJobs": fragment(PackageResources.fragment_held_jobs_sql),
        "longestValidator": "\(WireLimits.validatorCharacters)",
        "assetUnderWay": list([AssetState.ready, .inProgress, .verifying]),
        // A switch that was granted is carried through.
        "assetStarted": list(AssetState.machine.sources(of: .cancel)),
        "assetUnsettled": list(AssetState.allCases.filter { !$0.isSettled }),
        "assetInterruptible":
            list(AssetState.machine.sources(of: .interrupt).filter { !$0.isSettled }),
        "assetToStart":
            list(
                AssetState.allCases.filter {
                    $0 == .new || $0.isSettled && ![.completed, .failed, .cancelled].contains($0)
                }),
        // Nothing is stored or under way of them.
        "assetRefusable": list(AssetState.machine.sources(of: .refuse)),
        "assetHolding":
            list(AssetState.allCases.filter { $0 == .completed || !$0.isSettled && $0 != .new }),
        "keyClaims": fragment(PackageResources.fragment_key_claims_sql),
        "keyRefused": fragment(PackageResources.fragment_key_refused_sql),
        "tokenInPath": SignedPatterns.path(withTokens: true),
        "assetResolvable": list([AssetState.resolving]),
        "mostRefreshFailures": "\(RefreshSummary.mostFailures)",
        "assetColumns": fragment(PackageResources.fragment_asset_columns_sql),
        "loadTestStartable": list(LoadTestState.machine.sources(of: .start)),
        "loadTestStoppable": list(LoadTestState.machine.sources(of: .stop)),
        "loadTestEndable": list(LoadTestState.machine.sources(of: .end)),
        "loadShareDismissible": list(LoadShareState.machine.sources(of: .dismiss)),
        "loadShareUnderWay":
            list(
                LoadShareState.allCases.filter { !LoadShareState.machine.terminal.contains($0) }),
    ].merging(objects) { _, object in object }

    private static func fragment(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// An SQL list of quoted names; they are Swift identifiers, so quoting them is safe.
    private static func list<Name: RawRepresentable<String>>(_ names: [Name]) -> String {
        names.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    }
}
