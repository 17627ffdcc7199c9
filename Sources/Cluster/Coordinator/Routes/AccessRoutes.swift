import API
import Digest
import HTTPServer
import JobQueue
import Model

/// Routes for administrators: access tokens, and the audit log.
struct AccessRoutes: Sendable {
    let queue: JobQueue
    let memory: ClusterMemory

    func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.access.tokens.list())
    }

    /// Creates a token, and answers with its text, which is kept nowhere.
    func create(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        var submission: TokenSubmission = try RequestBody.read(request)
        try Validation.check(submission)
        if let sites = submission.sites {
            var urls: [String] = []
            for site in sites { urls.append(try await storageURL(ofSite: site)) }
            submission.sites = urls
        }
        let checked = submission
        return Change(detailed: ChangeText.text(of: checked)) { key in
            let token = AccessToken.issued()
            let hash = SHA256Digest(hashing: Array(token.text.utf8))
            let status = try await queue.access.tokens.create(
                checked, hash: hash.withUnsafeBytes { Array($0) }, by: caller.name, key: key)
            // Here at once; elsewhere by the notification.
            await memory.readTokens()
            return Change.Made(
                try .wire(IssuedToken(secret: token.text, token: status)),
                detail: "number \(status.id)")
        }
    }

    /// Returns the storage URL that a token is bound to: the one that is given, whose site need not
    /// exist, or that of a queue's site. Throws `input.notFound` for an unknown name.
    private func storageURL(ofSite name: String) async throws(Failure) -> String {
        let site = try Validation.site(name, "sites")
        return StorageURL.isQueueName(site) ? try await queue.sites.storageURL(of: site) : site
    }

    func revoke(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let token = path["token"]
        let _: NoFields = try RequestBody.read(request)
        try Validation.text(token, "token", 1...100)
        return Change(detailed: "token \(token)") { _ in
            let status = try await queue.access.tokens.revoke(token)
            await memory.readTokens()
            let isNumber = Int64(token) != nil
            return Change.Made(
                try .wire(status),
                detail: isNumber ? "name \(status.name)" : "number \(status.id)")
        }
    }

    func audit(_ request: HTTPRequest) async throws -> HTTPResponse {
        var page = try await queue.access.audit.page(
            after: try PageCursor.number(in: request, of: "audit"),
            limit: try Validation.limit(request.queryValue("limit")))
        page.next = PageCursor.sealed(page.next, of: "audit")
        return try .wire(page)
    }
}
