import JobQueue
import Model
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
                    try await fixture.queue.apply(
                        SelectionAction(.cancel, catalog: reference, asset: asset))
                }
            }
            let both = await failure(CatalogReference(name: "movies"))
            #expect(both?.code == "input.field" && both?.message.contains("1, 2") == true)
            #expect(await failure(CatalogReference(name: "series"))?.code == "input.notFound")
            #expect(await failure(CatalogReference(CatalogID(99)))?.code == "input.notFound")
            let elsewhere = CatalogReference(name: "movies", storageURL: "file:///three")
            #expect(await failure(elsewhere)?.code == "input.notFound")
            #expect(await failure(CatalogReference(two), asset: "f9")?.code == "input.notFound")
            let answer = try await fixture.queue.apply(
                SelectionAction(
                    .cancel, catalog: CatalogReference(name: "movies", storageURL: "file:///two")))
            #expect(answer == SelectionAnswer(assets: 1, jobs: 1))
            #expect(try await fixture.assets(of: two).map(\.state) == [.failed])
        }
    }
}
