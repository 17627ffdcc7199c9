import API

/// The roles that may use a route. An administrator may use all of them.
enum AccessRule: Sendable, CaseIterable {
    /// Everybody but workers.
    case readers
    case submitters
    case operators
    case admins
    case workers

    func allows(_ role: AccessRole) -> Bool {
        switch (self, role) {
        case (_, .admin), (.workers, .worker), (.operators, .operator),
            (.submitters, .operator), (.submitters, .submitter), (.readers, .operator),
            (.readers, .submitter), (.readers, .reader):
            true
        default: false
        }
    }

    /// Returns who can help a token of another role, and what that role allows.
    func hint(for role: AccessRole) -> String {
        let needed = AccessRole.allCases.last(where: allows) ?? .admin
        return "Ask an administrator for a token of the role \(needed.rawValue) "
            + "(`dray token create --role \(needed.rawValue)`). This one, of the role "
            + "\(role.rawValue), allows \(role.allowance)."
    }

    /// The roles that it allows, for messages.
    var names: String {
        AccessRole.allCases.filter(allows).map(\.rawValue).joined(separator: ", ")
    }
}
