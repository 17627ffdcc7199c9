package import Postgres

/// The parameters of a statement by name: `["lane": .int(1), "jobs": .int64Array(jobs)]`.
package struct SQLValues: Sendable, ExpressibleByDictionaryLiteral {
    private var pairs: [(name: String, value: PostgresValue)]

    package init(dictionaryLiteral elements: (String, PostgresValue)...) {
        pairs = elements.map { ($0.0, $0.1) }
    }

    package static func + (left: SQLValues, right: SQLValues) -> SQLValues {
        var sum = left
        sum.pairs += right.pairs
        return sum
    }

    /// Returns the values in the order of the statement's parameters. The names must be exactly
    /// those.
    func bound(to statement: SQLStatement) -> [PostgresValue] {
        let values = statement.parameters.map { name in
            guard let pair = pairs.first(where: { $0.name == name }) else {
                preconditionFailure("\(statement.name): no value for @\(name)")
            }
            return pair.value
        }
        precondition(
            pairs.count == values.count,
            "\(statement.name): a value too many among \(pairs.map(\.name))")
        return values
    }
}

/// The statements of one file, such as one of `SQL/`, one case each.
package protocol SQLSubject: RawRepresentable<String>, CaseIterable, Sendable {
    static var file: SQLFile { get }
}

extension SQLSubject {
    var statement: SQLStatement {
        guard let statement = Self.file.statements[rawValue] else {
            preconditionFailure("no statement \(Self.self).\(rawValue)")
        }
        return statement
    }

    var text: String { statement.text }
}

extension PostgresStatement {
    package init(_ subject: some SQLSubject, _ values: SQLValues = [:]) {
        self.init(subject.statement, values)
    }

    init(_ statement: SQLStatement, _ values: SQLValues) {
        self.init(
            statement.text, values.bound(to: statement), isPrepared: statement.isPrepared)
    }
}

extension PostgresConnection {
    /// Runs one statement.
    @discardableResult
    package func query(
        _ subject: some SQLSubject, _ values: SQLValues = [:]
    ) async throws(PostgresError) -> PostgresResult {
        try await query(subject.statement, values)
    }

    @discardableResult
    func query(
        _ statement: SQLStatement, _ values: SQLValues
    ) async throws(PostgresError) -> PostgresResult {
        try await query(PostgresStatement(statement, values))
    }
}
