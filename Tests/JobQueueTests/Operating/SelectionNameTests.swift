import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Which catalog and which asset a selection means.
@Suite struct SelectionNameTests {
    typealias F = QueueFixture

    @Test func catalogsAreNamedByNumberOrName() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("f1")], site: "file:///one")
            let two = try await fixture.submit([F.file("f1")], site: "file:///two")
            func failure(
                _ reference: CatalogReference, asset: String? = nil, code: FailureCode? = nil
            ) async -> Failure? {
                await #expect(throws: Failure.self) {
                    try await fixture.queue.catalogs.selections.apply(
                        SelectionAction(
                            .cancel, catalog: reference, asset: asset, failureCode: code))
                }
            }
            let both = await failure(CatalogReference(name: "movies"))
            #expect(both?.code == "input.ambiguous")
            #expect(
                both?.message
                    == "Several sites have a catalog movies: 1 at one, 2 at two. Specify its site "
                    + "(--site one), or its number; --all-sites takes all.")
            #expect(await failure(CatalogReference(name: "series"))?.code == "input.notFound")
            #expect(await failure(CatalogReference(CatalogID(99)))?.code == "input.notFound")
            let elsewhere = CatalogReference(name: "movies", site: "file:///three")
            let absent = await failure(elsewhere)
            #expect(absent?.code == "input.notFound")
            #expect(
                absent?.message
                    == "There is no site file:///three; other sites have one: 1 at one, 2 at two.")
            #expect(absent?.hint.contains("`dray site list`") == true)
            for code in [nil, FailureCode.originTimeout] {
                let unknown = await failure(CatalogReference(two), asset: "f9", code: code)
                #expect(unknown?.code == "input.notFound")
            }
            let none = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .retry, catalog: CatalogReference(two), asset: "f1",
                    failureCode: .originTimeout))
            #expect(none.assets == 0)
            let answer = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .cancel, catalog: CatalogReference(name: "movies", site: "file:///two")))
            #expect(answer == SelectionAnswer(assets: 1, jobs: 1))
            #expect(try await fixture.assets(of: two).map(\.state) == [.cancelled])
        }
    }

    @Test func aNumberWithASiteIsOfACatalogOfThatSite() async throws {
        try await F.with { fixture in
            let one = try await fixture.submit([F.file("f1")], site: "file:///one")
            let two = try await fixture.submit([F.file("f1")], site: "file:///two")
            func reference(_ catalog: CatalogID, _ site: String) -> CatalogReference {
                var reference = CatalogReference(catalog)
                reference.site = site
                return reference
            }
            for site in ["two", "file:///two"] {
                let found = try await fixture.queue.catalogs.selections.catalog(
                    reference(two, site))
                #expect(found == two)
            }
            for (catalog, site, message, list) in [
                (
                    one, "two",
                    "Catalog 1 is of the site one, not of two. Omit the site, or specify that one "
                        + "(--site one).", "catalog"
                ),
                (two, "three", "There is no site three; catalog 2 is of the site two.", "site"),
                (CatalogID(9), "two", "There is no catalog 9.", "catalog"),
            ] {
                let failure = await #expect(throws: Failure.self) {
                    try await fixture.queue.catalogs.selections.apply(
                        SelectionAction(.cancel, catalog: reference(catalog, site)))
                }
                #expect(failure?.code == .inputNotFound && failure?.message == message)
                #expect(failure?.hint.contains("`dray \(list) list`") == true)
                await #expect(throws: Failure.self) {
                    try await fixture.queue.catalogs.listings.browse(
                        AssetQuery(reference(catalog, site)))
                }
            }
            #expect(try await fixture.assets(of: one).map(\.state) == [.ready])
        }
    }

    @Test func sitesAreNamedByStorageURLOrQueue() async throws {
        try await F.with { fixture in
            let cache = "cache:https://edge.example?pop=192.0.2.1"
            let urls = ["file:///one", "file:///two", cache]
            var catalogs: [CatalogID] = []
            for url in urls { catalogs.append(try await fixture.submit([F.file("f1")], site: url)) }
            try await fixture.submit([F.file("f1")], catalog: "series", site: "file:///four")
            func catalog(_ site: String) async throws(Failure) -> CatalogID {
                try await fixture.queue.catalogs.selections.catalog(
                    CatalogReference(name: "movies", site: site))
            }
            let sites = try await fixture.queue.sites.list().sites
            for (url, expected) in zip(urls, catalogs) {
                let site = try #require(sites.first { $0.storageURL == url })
                #expect(site.queue.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" })
                #expect(try await catalog(url) == expected)
                #expect(try await catalog(site.queue) == expected, "\(site.queue)")
                #expect(try await fixture.queue.sites.storageURL(of: site.queue) == url)
            }
            let none = await #expect(throws: Failure.self) { try await catalog("four") }
            #expect(
                none?.message.hasPrefix(
                    "There is no catalog movies at four; other sites have one: 1 at one, 2 at two,")
                    == true, "\(String(describing: none))")
            #expect(none?.hint.contains("`dray catalog list`") == true)
            for name in ["three", "One", ""] {
                let unknown = await #expect(throws: Failure.self) { try await catalog(name) }
                #expect(unknown?.code == .inputNotFound, "\(name)")
                #expect(unknown?.hint.contains("`dray site list`") == true, "\(name)")
            }
            // No such name is given; a storage URL would still come first.
            try await fixture.pool.query("UPDATE queue SET name = 'file:///one' WHERE name = 'two'")
            #expect(try await catalog("file:///one") == catalogs[0])
            #expect(try await catalog("file:///two") == catalogs[1])
        }
    }
}
