import API
import JobQueue
import Model
import TestSupport
import Testing

/// Which of the sources that are due are offered to workers.
@Suite struct SourceCallTests {
    typealias F = QueueFixture

    /// Maximum number of sources that are offered at a time.
    private static let most = 200

    /// Gives so many catalogs of a site a source, one after the other; each is due at once.
    private func setSources(
        _ fixture: F, _ count: Int, of name: String, site: String
    ) async throws -> [CatalogID] {
        var catalogs: [CatalogID] = []
        for number in 0..<count {
            let catalog = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "\(name)\(number)", storageURL: site)
            ).id
            _ = try await fixture.queue.catalogs.sources.set(
                SourceSubmission(url: "http://origin.test/\(name)\(number)", everySeconds: 3_600),
                of: catalog)
            catalogs.append(catalog)
        }
        return catalogs
    }

    /// No worker reads those of the first one, and they are due for longer.
    @Test func aQueueWithManyDueSourcesKeepsNoOtherWaiting() async throws {
        try await F.with { fixture in
            let far = try await setSources(
                fixture, Self.most + 1, of: "far", site: "file:///srv/far")
            let near = try await setSources(fixture, 3, of: "near", site: F.site)
            let called = try await fixture.queue.catalogs.sources.called()
            #expect(called.count == Self.most)
            // Of one queue, those that are due for longest.
            #expect(Set(called.map(\.id)) == Set(near + far.prefix(Self.most - near.count)))
            #expect(Set(called.prefix(2).map(\.id)) == [far[0], near[0]])
            #expect(Set(called.map(\.queue)).count == 2)
        }
    }
}
