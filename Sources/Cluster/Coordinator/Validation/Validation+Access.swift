import API
import Model

/// Checks of access tokens.
extension Validation {
    static func check(_ token: TokenSubmission) throws(Failure) {
        if let name = token.name {
            try text(name, "name", 1...100)
            // Numbers identify tokens.
            guard name != Caller.environment, Int64(name) == nil else {
                throw wrong(
                    "name", name, "a name that is not a number, and not \(Caller.environment)")
            }
        }
        if let names = token.queues {
            guard token.role == .worker else {
                throw wrong("queues", "given", "for the role worker only")
            }
            try queues(names)
            guard !names.isEmpty else { throw wrong("queues", "none", "1 or more, or no field") }
        }
        if let sites = token.sites {
            guard token.role == .submitter else {
                throw wrong("sites", "given", "for the role submitter only")
            }
            try range(sites.count, "sites", 1...1_000)
        }
        if let expires = token.expires, !WireLimits.pointsInTime.contains(expires) {
            throw wrong("expires", "\(expires)", pointsInTime)
        }
    }
}
