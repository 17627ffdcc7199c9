import API
import JobQueue
import Model
import TestSupport
import Testing

/// Which catalog and which asset a selection means.
@Suite struct SelectionNameTests {
    typealias F = QueueFixture

    @Test func catalogsAreNamedByNumberOrName() async throws {
        try await F.with("selected") { fixture in
            try await fixture.submit([F.file("f1")], site: "file:///one")
            let two = try await fixture.submit([F.file("f1")], site: "file:///two")
            func failure(_ reference: CatalogReference, asset: String? = nil) async -> Failure? {
                await #expect(throws: Failure.self) {
                    try await fixture.queue.catalogs.selections.apply(
                        SelectionAction(.cancel, catalog: reference, asset: asset))
                }
            }
            let both = await failure(CatalogReference(name: "movies"))
            #expect(both?.code == "input.ambiguous" && both?.message.contains("1, 2") == true)
            #expect(await failure(CatalogReference(name: "series"))?.code == "input.notFound")
            #expect(await failure(CatalogReference(CatalogID(99)))?.code == "input.notFound")
            let elsewhere = CatalogReference(name: "movies", storageURL: "file:///three")
            let absent = await failure(elsewhere)
            #expect(absent?.code == "input.notFound")
            #expect(
                absent?.message
                    == "There is no catalog movies at file:///three; at other sites there is: 1, 2."
            )
            #expect(await failure(CatalogReference(two), asset: "f9")?.code == "input.notFound")
            let answer = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(
                    .cancel, catalog: CatalogReference(name: "movies", storageURL: "file:///two")))
            #expect(answer == SelectionAnswer(assets: 1, jobs: 1))
            #expect(try await fixture.assets(of: two).map(\.state) == [.cancelled])
        }
    }
}
