internal import CPostgres
internal import Glibc

/// The answer to one statement, in libpq's memory until the last reference is dropped.
package struct PostgresResult: Sendable {
    let storage: Storage

    /// Owns a `PGresult`.
    final class Storage: Sendable {
        /// Written by libpq before it was passed on, only read since: libpq's manual (34.20) allows
        /// that from any number of threads.
        nonisolated(unsafe) let pointer: OpaquePointer

        init(owning pointer: OpaquePointer) { self.pointer = pointer }
        deinit { PQclear(pointer) }

        /// Returns the number of the first column of this name. Compares the bytes in libpq's
        /// memory: each value of each row is looked up by its name.
        func number(ofColumn name: String) throws(PostgresError) -> Int32 {
            let number = name.withCString { name in
                (0..<PQnfields(pointer)).first { strcmp(PQfname(pointer, $0), name) == 0 }
            }
            guard let number else { throw PostgresError(.decoding, "no column named \(name)") }
            return number
        }
    }

    init(owning pointer: OpaquePointer) {
        storage = Storage(owning: pointer)
    }

    package var rowCount: Int { Int(PQntuples(storage.pointer)) }
    package var columnCount: Int { Int(PQnfields(storage.pointer)) }

    /// Number of rows inserted, updated, deleted, selected or copied.
    package var affectedRowCount: Int {
        Int(String(cString: PQcmdTuples(storage.pointer))) ?? 0
    }

    /// The command tag: `INSERT 0 5`, `COMMIT`, `ROLLBACK`.
    package var commandTag: String { String(cString: PQcmdStatus(storage.pointer)) }

    /// Returns the column of this name by its index: look it up once for all rows.
    package func column(_ name: String) throws(PostgresError) -> PostgresColumn {
        .index(try index(ofColumn: name))
    }

    /// Returns the index of the column of this name.
    package func index(ofColumn name: String) throws(PostgresError) -> Int {
        Int(try storage.number(ofColumn: name))
    }

    package var rows: PostgresRows { PostgresRows(result: self) }

    /// The first row, or nil if there is none.
    package var firstRow: PostgresRow? { rows.first }
}

package struct PostgresRows: RandomAccessCollection, Sendable {
    let result: PostgresResult

    package var startIndex: Int { 0 }
    package var endIndex: Int { result.rowCount }

    package subscript(position: Int) -> PostgresRow {
        precondition(position >= 0 && position < endIndex, "row out of range")
        return PostgresRow(storage: result.storage, row: Int32(position))
    }
}

/// A column by its number from 0 or by its name in the result.
package enum PostgresColumn: Sendable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    case index(Int)
    case name(String)

    package init(integerLiteral value: Int) { self = .index(value) }
    package init(stringLiteral value: String) { self = .name(value) }
}

/// One row. A missing column, an unexpected null and text that does not parse throw an error of
/// kind `.decoding`.
package struct PostgresRow: Sendable {
    let storage: PostgresResult.Storage
    let row: Int32

    package func isNull(_ column: PostgresColumn) throws(PostgresError) -> Bool {
        PQgetisnull(storage.pointer, row, try number(of: column)) == 1
    }

    package func int64(_ column: PostgresColumn) throws(PostgresError) -> Int64 {
        try required(column, "an integer", try optionalInt64(column))
    }

    package func optionalInt64(_ column: PostgresColumn) throws(PostgresError) -> Int64? {
        try decode(column, "an integer", Self.parseInteger)
    }

    package func int(_ column: PostgresColumn) throws(PostgresError) -> Int {
        Int(try int64(column))
    }

    package func string(_ column: PostgresColumn) throws(PostgresError) -> String {
        try required(column, "text", try optionalString(column))
    }

    package func optionalString(_ column: PostgresColumn) throws(PostgresError) -> String? {
        try decode(column, "text") { String(decoding: $0, as: UTF8.self) }
    }

    package func double(_ column: PostgresColumn) throws(PostgresError) -> Double {
        try required(column, "a number", try optionalDouble(column))
    }

    package func optionalDouble(_ column: PostgresColumn) throws(PostgresError) -> Double? {
        try decode(column, "a number") { Double(String(decoding: $0, as: UTF8.self)) }
    }

    package func bool(_ column: PostgresColumn) throws(PostgresError) -> Bool {
        try required(column, "a boolean", try optionalBool(column))
    }

    package func optionalBool(_ column: PostgresColumn) throws(PostgresError) -> Bool? {
        try decode(column, "a boolean") { text in
            guard text.count == 1 else { return nil }
            switch text[0] {
            case UInt8(ascii: "t"): return true
            case UInt8(ascii: "f"): return false
            default: return nil
            }
        }
    }

    package func bytes(_ column: PostgresColumn) throws(PostgresError) -> [UInt8] {
        try required(column, "bytes", try optionalBytes(column))
    }

    package func optionalBytes(_ column: PostgresColumn) throws(PostgresError) -> [UInt8]? {
        try decode(column, "bytes", Self.parseHexadecimal)
    }

    package func int64Array(_ column: PostgresColumn) throws(PostgresError) -> [Int64] {
        try required(column, "an integer array", try optionalInt64Array(column))
    }

    package func optionalInt64Array(_ column: PostgresColumn) throws(PostgresError) -> [Int64]? {
        try decode(column, "an integer array") { text -> [Int64]? in
            guard let parts = PostgresArray.parse(text) else { return nil }
            let numbers = parts.compactMap { $0.flatMap { Int64($0) } }
            return numbers.count == parts.count ? numbers : nil
        }
    }

    package func textArray(_ column: PostgresColumn) throws(PostgresError) -> [String?] {
        try required(
            column, "a text array", try decode(column, "a text array", PostgresArray.parse))
    }

    /// Calls `body` with a function that returns the text of a column, by its index; nil for null.
    /// The texts are valid until `body` returns.
    package func withTexts<Value>(
        _ body: (_ text: (Int) -> UnsafeBufferPointer<UInt8>?) throws -> Value
    ) rethrows -> Value {
        try withExtendedLifetime(storage) {
            try body { column in
                let number = Int32(column)
                guard PQgetisnull(storage.pointer, row, number) == 0,
                    let text = PQgetvalue(storage.pointer, row, number)
                else { return nil }
                let length = Int(PQgetlength(storage.pointer, row, number))
                return UnsafeRawBufferPointer(start: text, count: length)
                    .assumingMemoryBound(to: UInt8.self)
            }
        }
    }

    // MARK: -

    private func number(of column: PostgresColumn) throws(PostgresError) -> Int32 {
        switch column {
        case .index(let index):
            let count = PQnfields(storage.pointer)
            if index >= 0, index < Int(count) { return Int32(index) }
            throw PostgresError(.decoding, "no column \(index) among \(count)")
        case .name(let name):
            return try storage.number(ofColumn: name)
        }
    }

    private func decode<T>(
        _ column: PostgresColumn, _ type: String,
        _ parse: (UnsafeBufferPointer<UInt8>) -> T?
    ) throws(PostgresError) -> T? {
        let number = try number(of: column)
        guard PQgetisnull(storage.pointer, row, number) == 0 else { return nil }
        let length = Int(PQgetlength(storage.pointer, row, number))
        let text = PQgetvalue(storage.pointer, row, number)
        let value = text?.withMemoryRebound(to: UInt8.self, capacity: length) {
            parse(UnsafeBufferPointer(start: $0, count: length))
        }
        guard let value else {
            throw PostgresError(.decoding, "column \(column) does not hold \(type)")
        }
        return value
    }

    private func required<T>(
        _ column: PostgresColumn, _ type: String, _ value: T?
    ) throws(PostgresError) -> T {
        guard let value else {
            throw PostgresError(.decoding, "column \(column) is null where \(type) is expected")
        }
        return value
    }

    private static func parseInteger(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = text.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            // Summed below zero, so that Int64.min fits.
            let (sum, isBelow) = product.subtractingReportingOverflow(
                Int64(byte - UInt8(ascii: "0")))
            guard !isTooLarge, !isBelow else { return nil }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    private static func parseHexadecimal(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count >= 2, text.count % 2 == 0, text[0] == UInt8(ascii: "\\"),
            text[1] == UInt8(ascii: "x")
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2 - 1)
        for index in stride(from: 2, to: text.count, by: 2) {
            guard let high = digit(text[index]), let low = digit(text[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
