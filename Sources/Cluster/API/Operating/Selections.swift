package import Model

/// `POST /v1/selections`: applies an action to all selected work.
///
/// What is selected matches all of `catalog`, `asset`, `name`, `states` and `failureCode` that are
/// set; at least a catalog, a failure code or states are required. Repeating a selection selects the remaining work.
package struct SelectionAction: Codable, Hashable, Sendable {
    package var action: Action
    /// Nil for every catalog.
    package var catalog: CatalogReference?
    /// The name of one asset of the catalog.
    package var asset: String?
    /// The whole name; `*` matches any characters.
    package var name: String?
    /// Any of `AssetStates.allNames`.
    package var states: [String]?
    /// Code of failed assets; for assets in progress, of failed segments.
    package var failureCode: FailureCode?
    /// reprioritise: 0 (last) to 9 (first).
    package var priority: Int?
    /// reschedule: seconds since 1970; 0 for none, nil for no change.
    package var notBefore: Double?
    package var deadline: Double?
    /// reschedule: seconds between refreshes, `WireLimits.sourceSeconds`; 0 for none, nil for no change.
    package var refreshSeconds: Double?
    /// cancel: only refreshes of completed assets, not first fetches. Nil is false.
    package var ofRefresh: Bool?
    /// remove: only assets that the catalog's last submission did not name. Nil is false.
    package var ofLeft: Bool?
    /// remove with `ofLeft`, which requires it: the generation of that submission. Fails if another
    /// one was started since.
    package var generation: Int?

    package enum Action: String, Codable, CaseIterable, Sendable {
        /// Ends all work on it. Workers stop leased jobs at their next heartbeat; stored files
        /// stay.
        case cancel
        /// Retries failed and cancelled work with new attempts.
        case retry
        case reprioritise
        /// Sets a whole catalog's earliest start, deadline and refreshes. Workers finish leased jobs.
        case reschedule
        /// Requests the files of completed assets again.
        case refresh
        /// Starts no more jobs of assets that have not ended. Workers return leased jobs at their
        /// next heartbeat and keep what they have received.
        case pause
        /// Continues paused and interrupted assets.
        case resume
        /// Cancels what has not ended, then deletes the files that no other asset of the site
        /// needs: manifests first.
        case remove
        /// Excepts assets from eviction, whatever their state.
        case pin
        /// Allows their eviction again.
        case unpin
        /// Deletes the records of a whole catalog that has ended; stored files stay.
        case forget
    }

    /// True if it selects all assets of its catalogs.
    package var isWhole: Bool {
        asset == nil && name == nil && states == nil && failureCode == nil
    }

    package init(
        _ action: Action, catalog: CatalogReference? = nil, asset: String? = nil,
        failureCode: FailureCode? = nil, priority: Int? = nil, notBefore: Double? = nil,
        deadline: Double? = nil, ofRefresh: Bool? = nil
    ) {
        self.action = action
        self.catalog = catalog
        self.asset = asset
        self.failureCode = failureCode
        self.priority = priority
        self.notBefore = notBefore
        self.deadline = deadline
        self.ofRefresh = ofRefresh
    }
}

/// The answer to `SelectionAction`: the changes.
package struct SelectionAnswer: Codable, Hashable, Sendable {
    package var assets: Int
    /// Number of removed, created or moved jobs.
    package var jobs: Int
    /// refresh, remove: the catalog to follow.
    package var catalog: CatalogID?
    /// remove: files to delete, unless other assets need them; nil for other actions.
    package var files: Int?
    /// retry, resume: assets whose rights allow no fetch now; nil for none.
    package var refused: Refused?

    package struct Refused: Codable, Hashable, Sendable {
        package var assets: Int
        /// The reason for one of them.
        package var reason: String

        package init(assets: Int, reason: String) {
            self.assets = assets
            self.reason = reason
        }
    }

    package init(assets: Int, jobs: Int) {
        self.assets = assets
        self.jobs = jobs
    }

    /// Adds the counts of another catalog's answer, and keeps the latest reason.
    package mutating func add(_ other: SelectionAnswer) {
        assets += other.assets
        jobs += other.jobs
        if let files = other.files { self.files = (self.files ?? 0) + files }
        if let refused = other.refused {
            self.refused = Refused(
                assets: refused.assets + (self.refused?.assets ?? 0), reason: refused.reason)
        }
    }
}
