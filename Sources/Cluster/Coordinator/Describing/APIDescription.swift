import API
import Model

/// The routes with their descriptions, and the schemas of their messages: what documents are made
/// from.
struct APIDescription {
    struct Entry {
        let route: Route
        let description: RouteDescription
    }

    /// In the order of paths and methods.
    let entries: [Entry]
    /// Schemas of objects, by name.
    let components: [String: Schema]
    /// Names of the components of requests, which must not have other fields.
    let requests: Set<String>
    /// Types whose schema could not be derived.
    let problems: [String]
    private let tracer: SchemaTracer

    /// - Parameter routes: the routes; one without a description is left out.
    init(_ routes: [Route]) {
        let tracer = SchemaTracer()
        var entries: [Entry] = []
        var requests: Set<String> = []
        _ = tracer.schema(of: ErrorAnswer.self)
        for route in routes.sorted(by: { ("\($0.path)", $0.name) < ("\($1.path)", $1.name) }) {
            guard let description = RouteDescription.all[route.name] else { continue }
            entries.append(Entry(route: route, description: description))
            if let body = description.body {
                requests.formUnion(tracer.names(in: tracer.schema(of: body)))
            }
            switch description.answer {
            case .json(let type), .rows(let type), .events(let type): _ = tracer.schema(of: type)
            case .nothing, .text, .document: break
            }
        }
        self.entries = entries
        self.requests = requests
        self.tracer = tracer
        components = tracer.components
        problems = tracer.problems
    }

    /// Returns the schema of a message: a reference to a component.
    func schema(of message: RouteDescription.Message) -> Schema { tracer.schema(of: message) }
}
