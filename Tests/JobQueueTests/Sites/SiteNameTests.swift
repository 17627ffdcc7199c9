import API
import JobQueue
import Model
import TestSupport
import Testing

/// Names that operators give to sites.
@Suite struct SiteNameTests {
    private static func added(_ url: String, _ name: String?) -> SiteSettings {
        var settings = SiteSettings(site: url)
        settings.adds = true
        settings.name = name
        return settings
    }

    @Test func aSiteHasTheNameThatItIsAddedWith() async throws {
        try await QueueFixture.with { fixture in
            let sites = fixture.queue.sites
            let named = try await sites.configure(Self.added("file:///srv/one", "edge-1"))
            #expect(named.queue == "edge-1" && named.storageURL == "file:///srv/one")
            // Again changes nothing.
            #expect(
                try await sites.configure(Self.added("file:///srv/one", "edge-1")).queue
                    == "edge-1")
            let unnamed = try await sites.configure(Self.added("file:///srv/two", nil))
            #expect(unnamed.queue == "srv-two")

            let taken = await #expect(throws: Failure.self) {
                try await sites.configure(Self.added("file:///srv/three", "edge-1"))
            }
            #expect(taken?.code == .inputDuplicate)
            #expect(try await fixture.count("site") == 2)
            let other = await #expect(throws: Failure.self) {
                try await sites.configure(Self.added("file:///srv/two", "edge-2"))
            }
            #expect(other?.code == .inputField && other?.message.contains("srv-two") == true)

            // Its catalogs come into the queue of that name.
            let catalog = try await fixture.submit(
                [QueueFixture.file("a")], site: "file:///srv/one")
            #expect(try await fixture.queue.catalogs.status(of: catalog).queue == "edge-1")
        }
    }
}
