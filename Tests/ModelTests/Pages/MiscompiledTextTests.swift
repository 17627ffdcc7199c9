import Foundation
import Testing

/// Source text that Swift 6.3 compiles wrongly where it optimizes: tests of debug builds do not show
/// it.
@Suite struct MiscompiledTextTests {
    /// A group of tasks that return such tuples may lose their results, or the process crashes.
    @Test func noTupleAwaitsAResult() throws {
        for file in try SourceTree.files(withExtensions: ["swift"]) {
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(
                !text.contains(/return \(\w+,\s*\.success\(try await/), "\(file.lastPathComponent)")
        }
    }
}
