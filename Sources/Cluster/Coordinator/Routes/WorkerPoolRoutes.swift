import API
import HTTPServer
import JobQueue
import Model

/// Routes for autoscalers and planners.
struct WorkerPoolRoutes: Sendable {
    let queue: JobQueue

    func wanted(_ request: HTTPRequest) async throws -> HTTPResponse {
        let policy = try Self.policy(request)
        let name = request.queryValue("queue")
        if let name { try Validation.text(name, "queue", 1...200) }
        return try .wire(WorkersWanted.decide(try await queue.workers.load(ofQueue: name), policy))
    }

    func history(_ request: HTTPRequest) async throws -> HTTPResponse {
        if let other = request.query.first(where: { $0.name != "seconds" }) {
            throw Validation.wrong("the query", other.name, "seconds")
        }
        let most = WorkersHistory.keptSeconds
        let seconds = try Self.number(request, "seconds", 60...Double(most)) ?? 86_400
        return try .wire(try await queue.workers.history(seconds: Int(seconds)))
    }

    /// Reads a request's parameters. Throws `input.field` for an unknown or out-of-range one.
    private static func policy(_ request: HTTPRequest) throws(Failure) -> PoolPolicy {
        let names = [
            "queue", "workerSegmentsPerSecond", "withinSeconds", "bootSeconds", "minimum",
            "maximum", "tolerance",
        ]
        if let other = request.query.first(where: { !names.contains($0.name) }) {
            throw Validation.wrong("the query", other.name, names.joined(separator: ", "))
        }
        let rate = try number(request, "workerSegmentsPerSecond", 1e-6...1e6)
        guard let rate else {
            throw Validation.wrong(
                "workerSegmentsPerSecond", "none", "the rate of one worker: 0.000001 to 1000000")
        }
        var policy = PoolPolicy(workerSegmentsPerSecond: rate)
        if let value = try number(request, "withinSeconds", 1...31_536_000) {
            policy.withinSeconds = value
        }
        if let value = try number(request, "bootSeconds", 0...86_400) { policy.bootSeconds = value }
        if let value = try number(request, "tolerance", 0...0.9) { policy.tolerance = value }
        if let value = try number(request, "minimum", 0...100_000) {
            policy.minimum = Int(value.rounded(.up))
        }
        if let value = try number(request, "maximum", 0...100_000) { policy.maximum = Int(value) }
        guard policy.minimum <= policy.maximum else {
            throw Validation.wrong(
                "minimum", "\(policy.minimum)", "no more than maximum, \(policy.maximum)")
        }
        return policy
    }

    private static func number(
        _ request: HTTPRequest, _ name: String, _ range: ClosedRange<Double>
    ) throws(Failure) -> Double? {
        guard let text = request.queryValue(name) else { return nil }
        if let value = Double(text), range.contains(value) { return value }
        throw Validation.wrong(name, text, "\(range.lowerBound) to \(range.upperBound)")
    }
}
