import API
import JobQueue
import Model
import Testing

/// Warnings of later readings.
extension RecordingTests {
    private static func warnings(
        _ rules: [ManifestRule], of manifest: String = "http://h/t"
    ) -> ManifestWarnings {
        var warnings = ManifestWarnings()
        for rule in rules { warnings.add(rule, in: manifest, line: nil) { "wrong" } }
        return warnings
    }

    /// A clock that becomes wrong is named, although the asset has as many warnings as it keeps;
    /// neither a repeated request nor a later reading counts it again.
    @Test func aLaterWarningIsStoredOnce() async throws {
        try await F.with { fixture in
            let catalog = try await Self.submit(fixture)
            let rules: [ManifestRule] = [
                .dashOrder, .dashIdentifier, .dashWidth, .dashNumber, .dashRange,
            ]
            #expect(rules.count == WireLimits.warningsPerAsset)
            /// One reading, whose request is repeated.
            func read(_ number: Int64, _ warnings: ManifestWarnings) async throws {
                let (grant, _) = try await Self.reload(fixture)
                var batch = Self.batch(fixture, grant, [number])
                batch.warnings = warnings
                for _ in 0..<2 {
                    #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
                }
                try await Self.end(fixture, grant)
            }
            func kept() async throws -> ManifestWarnings? {
                try await fixture.assets(of: catalog)[0].warnings
            }
            try await read(1, Self.warnings(rules))
            #expect(try await kept() == Self.warnings(rules))
            _ = try await Self.fetch(fixture)
            try await read(2, Self.warnings([.dashClock]))
            let first = try #require(try await kept())
            #expect(first.count == 6)
            #expect(
                first.first.map(\.rule)
                    == ([.dashClock] + rules.dropLast()).map(\.rawValue))
            _ = try await Self.fetch(fixture)
            // The MPD of another session.
            try await read(3, Self.warnings([.dashClock], of: "http://h/session/2"))
            #expect(try await kept() == first)
        }
    }
}
