import HTTPServer
import JobQueue
import Model
import Services
import Synchronization

/// A change that a request asks for, checked but not made yet.
struct Change: Sendable {
    /// A change that was made.
    struct Made: Sendable {
        let answer: HTTPResponse
        /// Details of the object, such as its number; nil for none.
        let detail: String?

        init(_ answer: HTTPResponse, detail: String? = nil) {
            self.answer = answer
            self.detail = detail
        }
    }

    /// The changed object and the change; without secrets of URLs.
    let object: String
    /// True if many requests make one change: each caller's first one at each coordinator is recorded.
    var isPart = false
    /// Makes it. What creates something records the request's key with it.
    let make: @Sendable (RequestKey?) async throws -> Made

    /// Maximum characters of the object.
    private static let maxCharacters = 1_000

    init(
        _ object: String, isPart: Bool = false,
        make: @escaping @Sendable () async throws -> HTTPResponse
    ) {
        self.init(detailed: object) { _ in Made(try await make()) }
        self.isPart = isPart
    }

    /// A change of which more is known once it is made. What creates something records the key in the
    /// same transaction.
    init(
        detailed object: String,
        make: @escaping @Sendable (RequestKey?) async throws -> Made
    ) {
        self.object = String(
            String.UnicodeScalarView(
                Redaction.message(object).unicodeScalars.prefix(Self.maxCharacters)))
        self.make = make
    }
}

/// Records changes in the audit log: each before it is made, and then its answer.
///
/// If it cannot be recorded, it is not made.
final class AuditTrail: Sendable {
    private struct Part: Hashable {
        var token: AccessTokenID?
        var action: String
        var object: String
    }

    private let audit: AuditLog
    /// Parts of changes that were recorded.
    private let parts = Mutex<Set<Part>>([])
    private let log = Logger("coordinator")

    private static let maxParts = 10_000

    init(audit: AuditLog) { self.audit = audit }

    /// Makes a change, and returns its answer. Throws its failure, and if it cannot be recorded.
    func make(
        _ change: Change, _ action: String, key: RequestKey?, by caller: Caller
    ) async throws -> HTTPResponse {
        let part = Part(token: caller.id, action: action, object: change.object)
        if change.isPart, parts.withLock({ $0.contains(part) }) {
            return try await change.make(key).answer
        }
        let id = try await audit.begin(
            AuditLog.Change(
                token: caller.id, name: caller.name, role: caller.role, action: action,
                object: change.object))
        if change.isPart {
            parts.withLock { parts in
                if parts.count >= Self.maxParts { parts.removeAll() }
                parts.insert(part)
            }
        }
        do {
            let made = try await change.make(key)
            await end(
                id, status: made.answer.status, code: nil,
                detail: made.detail.map { Redaction.message($0) })
            return made.answer
        } catch {
            let failure = FailureAnswer.failure(of: error)
            await end(id, status: FailureAnswer.status(of: failure.code), code: failure.code)
            throw failure
        }
    }

    /// Records the end of a change. A failure is logged: the change is made, or has failed.
    private func end(
        _ id: Int64, status: Int, code: FailureCode?, detail: String? = nil
    ) async {
        do throws(Failure) {
            try await audit.end(id, status: status, code: code, detail: detail)
        } catch {
            log.warning(
                "the answer to a change is not in the audit log",
                ["record": id, "code": error.code.rawValue, "error": error.message])
        }
    }
}
