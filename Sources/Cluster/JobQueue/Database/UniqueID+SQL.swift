package import Model
package import Postgres

extension PostgresValue {
    package static func uuid(_ id: UniqueID<some Any>) -> PostgresValue { .uuid(id.description) }
    static func optionalUUID(_ id: UniqueID<some Any>?) -> PostgresValue {
        id.map { .uuid($0) } ?? .null
    }
    static func uuidArray(_ ids: [UniqueID<some Any>]) -> PostgresValue {
        // A closure, because each call would instantiate the key path of a generic type.
        .uuidArray(ids.map { $0.description })
    }
}

extension PostgresRow {
    package func uuid<Entity>(_ column: PostgresColumn) throws(PostgresError) -> UniqueID<Entity> {
        try Self.uuid(try string(column), column)
    }

    package func optionalUUID<Entity>(
        _ column: PostgresColumn
    ) throws(PostgresError) -> UniqueID<Entity>? {
        guard let text = try optionalString(column) else { return nil }
        return try Self.uuid(text, column)
    }

    private static func uuid<Entity>(
        _ text: String, _ column: PostgresColumn
    ) throws(PostgresError) -> UniqueID<Entity> {
        guard let id = UniqueID<Entity>(text) else {
            throw PostgresError(.decoding, "column \(column) does not hold a UUID")
        }
        return id
    }
}
