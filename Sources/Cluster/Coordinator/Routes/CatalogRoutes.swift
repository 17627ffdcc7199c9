import API
import HTTPServer
import JobQueue
import Model

/// Routes for catalogs: clients open, fill, start and change them, and read their assets.
struct CatalogRoutes: Sendable {
    let queue: JobQueue
    /// Fired when counts of catalogs may have changed.
    let reported: WorkSignal

    /// Reads the catalog's number in a path.
    private static func catalog(_ path: PathParameters) throws(Failure) -> CatalogID {
        CatalogID(try Validation.number(path["catalog"], "catalog"))
    }

    func status(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let withActive = try Validation.flag(request.queryValue("active"), "active")
        var status = try await queue.catalogs.status(
            of: try Self.catalog(path), withActive: withActive ?? true)
        if !caller.seesSecrets { status.active = status.active.map(\.redacted) }
        return try .wire(status)
    }

    func refreshSummary(
        _ request: HTTPRequest, _ path: PathParameters
    ) async throws -> HTTPResponse {
        try .wire(try await queue.files.refreshes.summary(of: try Self.catalog(path)))
    }

    // MARK: Changes

    func open(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        var submission: CatalogSubmission = try RequestBody.read(request)
        try Validation.check(submission)
        // A site has one name, regardless of spelling.
        submission.storageURL = try Validation.storageURL(submission.storageURL)
        try caller.require(storageURL: submission.storageURL)
        // Its files are copied from there.
        submission.neighbours = try submission.neighbours?.map { neighbour throws(Failure) in
            let url = try Validation.storageURL(neighbour)
            try caller.require(storageURL: url)
            return url
        }
        let opened = submission
        return Change(
            detailed: "catalog \(opened.name) at \(redacted(url: opened.storageURL)), priority "
                + "\(opened.priority)"
        ) { key in
            let handle = try await queue.catalogs.submissions.open(
                opened, trace: .current, key: key)
            return Change.Made(try .wire(handle), detail: "number \(handle.id)")
        }
    }

    /// Adds a batch to a submission, which may have thousands of them.
    func add(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let catalog = try Self.catalog(path)
        let batch: AssetBatch = try RequestBody.read(request)
        try Validation.check(batch)
        try await caller.require(catalog, queue.access.tokens)
        return Change("catalog \(catalog), submission \(batch.generation)", isPart: true) {
            try await queue.catalogs.submissions.add(
                batch.assets, to: catalog, generation: batch.generation)
            return .done
        }
    }

    func start(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let catalog = try Self.catalog(path)
        let start: CatalogStartRequest = try RequestBody.read(request)
        try await caller.require(catalog, queue.access.tokens)
        return Change("catalog \(catalog), submission \(start.generation)") {
            try .wire(
                try await queue.catalogs.submissions.start(
                    catalog, generation: start.generation, skipsFailed: start.skipsFailed == true,
                    while: request.isPeerConnected))
        }
    }

    func interrupt(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let catalog = try Self.catalog(path)
        let _: NoFields = try RequestBody.read(request)
        try await caller.require(catalog, queue.access.tokens)
        return Change("catalog \(catalog)") {
            try await queue.catalogs.submissions.interrupt(catalog)
            return .done
        }
    }

    /// Cancels, retries, reprioritises, reschedules or refreshes what is selected. Who is bound to
    /// sites has to name a catalog of these.
    func select(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        var action: SelectionAction = try RequestBody.read(request)
        try Validation.check(action)
        let object = ChangeText.text(of: action)
        if caller.isBoundToSites {
            guard let named = action.catalog else {
                throw Failure(
                    .clusterOutOfScope,
                    "The token \(caller.name) is bound to sites: name one catalog of them.")
            }
            let catalog = try await queue.catalogs.selections.catalog(named)
            try await caller.require(catalog, queue.access.tokens)
            action.catalog = CatalogReference(catalog)
        }
        let selected = action
        return Change(object) {
            let answer = try await queue.catalogs.selections.apply(selected)
            reported.fire()
            return try .wire(answer)
        }
    }

    // MARK: Lists

    /// Lists assets of any catalog by state, name, failure and more.
    func browse(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        var listing = try await queue.catalogs.listings.browse(try AssetQuery.read(request))
        if !caller.seesSecrets { listing.assets = listing.assets.map(\.redacted) }
        listing.next = PageCursor.sealed(listing.next, of: AssetQuery.list)
        return try .wire(listing)
    }

    func assets(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let catalog = try Self.catalog(path)
        let after = try PageCursor.position(in: request, of: "catalog-assets") ?? "0"
        guard let last = Int64(after) else {
            throw Validation.wrong("after", after, "the next of a page")
        }
        var state: AssetState?
        if let name = request.queryValue("state") {
            state = AssetState(rawValue: name)
            if state == nil {
                throw Validation.wrong(
                    "state", name, AssetState.allCases.map(\.rawValue).joined(separator: ", "))
            }
        }
        var page = try await queue.catalogs.assets(
            of: catalog, after: AssetID(last), state: state,
            limit: try Validation.limit(request.queryValue("limit")))
        if !caller.seesSecrets { page.assets = page.assets.map(\.redacted) }
        page.next = PageCursor.sealed(page.next, of: "catalog-assets")
        return try .wire(page)
    }

    func caches(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let after = try PageCursor.position(in: request, of: "caches") ?? "0"
        guard let last = Int64(after) else {
            throw Validation.wrong("after", after, "the next of a page")
        }
        var report = try await queue.catalogs.cacheAnswers.report(
            of: try Self.catalog(path), after: last,
            limit: try Validation.limit(request.queryValue("limit")))
        if !caller.seesSecrets {
            for index in report.findings.indices {
                report.findings[index].path = Redaction.key(report.findings[index].path)
            }
        }
        report.next = PageCursor.sealed(report.next, of: "caches")
        return try .wire(report)
    }

    func work(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        try .wire(try await queue.workers.work(for: try Self.catalog(path)))
    }

    func files(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        var page = try await queue.catalogs.files(
            of: try Self.catalog(path), after: try PageCursor.position(in: request, of: "files"),
            limit: try Validation.limit(request.queryValue("limit")))
        if !caller.seesSecrets { page.files = page.files.map(\.redacted) }
        page.next = PageCursor.sealed(page.next, of: "files")
        return try .wire(page)
    }
}
