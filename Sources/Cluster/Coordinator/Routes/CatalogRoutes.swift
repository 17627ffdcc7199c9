import API
import HTTPServer
import JobQueue
import Model

/// Routes for catalogs: clients open, fill and start them, and read their assets.
struct CatalogRoutes: Sendable {
    let queue: JobQueue

    /// Reads the catalog's number in a path.
    private static func catalog(_ path: PathParameters) throws(Failure) -> CatalogID {
        let number = path["catalog"]
        guard let id = Int64(number), id > 0 else {
            throw Validation.wrong("catalog", number, "a catalog's number")
        }
        return CatalogID(id)
    }

    func open(_ request: HTTPRequest) async throws -> HTTPResponse {
        var submission: CatalogSubmission = try RequestBody.read(request)
        try Validation.check(submission)
        // A site has one name, regardless of spelling.
        submission.storageURL = try Validation.storageURL(submission.storageURL)
        return try .wire(try await queue.submissions.open(submission))
    }

    func status(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let withActive = try Validation.flag(request.queryValue("active"), "active")
        return try .wire(
            try await queue.catalogs.status(
                of: try Self.catalog(path), withActive: withActive ?? true))
    }

    func add(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let catalog = try Self.catalog(path)
        let batch: AssetBatch = try RequestBody.read(request)
        try Validation.check(batch)
        try await queue.submissions.add(batch.assets, to: catalog, generation: batch.generation)
        return .done
    }

    func start(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let catalog = try Self.catalog(path)
        let start: CatalogStartRequest = try RequestBody.read(request)
        return try .wire(try await queue.submissions.start(catalog, generation: start.generation))
    }

    func interrupt(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let _: NoFields = try RequestBody.read(request)
        try await queue.submissions.interrupt(try Self.catalog(path))
        return .done
    }

    func refreshSummary(
        _ request: HTTPRequest, _ path: PathParameters
    ) async throws -> HTTPResponse {
        try .wire(try await queue.refreshes.summary(of: try Self.catalog(path)))
    }

    // MARK: Lists

    /// Lists assets of any catalog by state, name, failure and more.
    func browse(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.catalogs.listings.browse(try AssetQuery.read(request)))
    }

    func assets(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let catalog = try Self.catalog(path)
        let after = request.queryValue("after") ?? "0"
        guard let last = Int64(after) else {
            throw Validation.wrong("after", after, "an asset's number")
        }
        var state: AssetState?
        if let name = request.queryValue("state") {
            state = AssetState(rawValue: name)
            if state == nil {
                throw Validation.wrong(
                    "state", name, AssetState.allCases.map(\.rawValue).joined(separator: ", "))
            }
        }
        return try .wire(
            try await queue.catalogs.assets(
                of: catalog, after: AssetID(last), state: state,
                limit: try Validation.limit(request.queryValue("limit"))))
    }

    func files(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        try .wire(
            try await queue.catalogs.files(
                of: try Self.catalog(path), after: request.queryValue("after"),
                limit: try Validation.limit(request.queryValue("limit"))))
    }

    /// Lists digests of completed assets in a directory of a site.
    func checksums(_ request: HTTPRequest) async throws -> HTTPResponse {
        let site = request.queryValue("site") ?? ""
        guard let number = Int64(site), number > 0 else {
            throw Validation.wrong("site", site, "a site's number")
        }
        return try .wire(
            try await queue.sites.checksums.page(
                site: SiteID(number), directory: request.queryValue("directory") ?? "",
                after: request.queryValue("after"),
                limit: try Validation.limit(request.queryValue("limit"))), for: request)
    }
}
