import Model

/// The routes of the API by method and path. It also determines a path's allowed methods (405 and
/// Allow).
struct RouteTable: Sendable {
    /// The routes of one path.
    private struct Entry {
        var path: RoutePath
        var routes: [Route]
    }

    /// The result of a lookup.
    enum Match {
        case found(Route, PathParameters)
        /// The path has other methods only, in the order of their names.
        case otherMethods([Route.Method], isOpen: Bool)
        case none
    }

    /// Entries by the number of parts of their paths.
    private let entries: [[Entry]]

    init(_ routes: [Route]) {
        var entries: [[Entry]] = []
        for route in routes {
            let count = route.path.parts.count
            while entries.count <= count { entries.append([]) }
            if let known = entries[count].firstIndex(where: { $0.path == route.path }) {
                entries[count][known].routes.append(route)
            } else {
                entries[count].append(Entry(path: route.path, routes: [route]))
            }
        }
        self.entries = entries
    }

    /// All routes, for tests and documents.
    var routes: [Route] { entries.flatMap { $0.flatMap(\.routes) } }

    /// - Parameter method: the method as sent; GET for HEAD.
    func match(_ method: String, _ segments: [String]) -> Match {
        guard segments.count < entries.count else { return .none }
        for entry in entries[segments.count] {
            guard let parameters = entry.path.match(segments) else { continue }
            if let route = entry.routes.first(where: { $0.method.rawValue == method }) {
                return .found(route, parameters)
            }
            return .otherMethods(
                entry.routes.map(\.method).sorted { $0.rawValue < $1.rawValue },
                isOpen: entry.routes.allSatisfy { $0.rule == nil })
        }
        return .none
    }
}
