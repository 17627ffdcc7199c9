import API
import HTTPServer
import JobQueue
import Model

/// Routes for sources of catalogs: those of clients, and those of workers.
struct SourceRoutes: Sendable {
    let queue: JobQueue

    private static func catalog(_ path: PathParameters) throws(Failure) -> CatalogID {
        CatalogID(try Validation.number(path["catalog"], "catalog"))
    }

    func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        var page = try await queue.catalogs.sources.page(
            after: try PageCursor.number(in: request, of: "sources"),
            limit: try Validation.limit(request.queryValue("limit")))
        page.next = PageCursor.sealed(page.next, of: "sources")
        return try .wire(page)
    }

    func status(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        try .wire(try await queue.catalogs.sources.status(of: try Self.catalog(path)))
    }

    // MARK: Changes

    func set(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let catalog = try Self.catalog(path)
        let source: SourceSubmission = try RequestBody.read(request)
        try Validation.check(source)
        try await caller.require(catalog, queue.access.tokens)
        return Change(
            "catalog \(catalog): \(redacted(url: source.url)) every \(source.everySeconds) s"
        ) {
            try .wire(try await queue.catalogs.sources.set(source, of: catalog))
        }
    }

    func readNow(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let catalog = try Self.catalog(path)
        let _: NoFields = try RequestBody.read(request)
        try await caller.require(catalog, queue.access.tokens)
        return Change("catalog \(catalog)") {
            try .wire(try await queue.catalogs.sources.readNow(catalog))
        }
    }

    func remove(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let catalog = try Self.catalog(path)
        let _: NoFields = try RequestBody.read(request)
        try await caller.require(catalog, queue.access.tokens)
        return Change("catalog \(catalog)") {
            try .wire(try await queue.catalogs.sources.remove(catalog))
        }
    }

    // MARK: For workers

    func lease(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let catalog = try Self.catalog(path)
        let lease: WorkLeaseRequest = try RequestBody.read(request)
        try Validation.text(lease.name, "name", 1...200)
        if caller.isBoundToQueues {
            try await caller.require(
                try await queue.catalogs.sources.site(of: catalog), queue.access.tokens)
        }
        return try .wire(try await queue.catalogs.sources.work.lease(catalog, lease))
    }

    func check(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let catalog = try Self.catalog(path)
        let check: SourceCheck = try RequestBody.read(request)
        try Validation.check(check)
        return try .wire(try await queue.catalogs.sources.work.check(catalog, check))
    }

    func add(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let catalog = try Self.catalog(path)
        let worker: WorkerID = try Validation.id(request.queryValue("worker") ?? "", "worker")
        let lease: LeaseID = try Validation.id(request.queryValue("lease") ?? "", "lease")
        let batch: AssetBatch = try RequestBody.read(request)
        try Validation.check(batch)
        try await queue.catalogs.sources.work.add(
            batch.assets, to: catalog, worker: worker, lease: lease)
        return .done
    }

    func report(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let catalog = try Self.catalog(path)
        let report: SourceReport = try RequestBody.read(request)
        try Validation.check(report)
        try await queue.catalogs.sources.work.report(catalog, report)
        return .done
    }
}
