import Lists
import Model
import TestSupport
import Testing

@Suite("Indexes of sitemaps") struct SitemapIndexTests {
    @Test("an index returns its sitemaps, and documents form one list")
    func indexes() throws {
        var reader = ListReader(format: .sitemap, followsIndexes: true)
        let index =
            "<sitemapindex>\n<sitemap><loc>http://h/1.xml</loc><lastmod>x</lastmod></sitemap>\n"
            + "<sitemap/>\n<sitemap><loc> http://h/2 </loc></sitemap></sitemapindex>"
        reader.document = "first"
        #expect(try reader.feed([UInt8](index.utf8)).isEmpty)
        #expect(try reader.finishDocument().isEmpty)
        let sitemaps = reader.takeSitemaps()
        #expect(sitemaps.map(\.url) == ["http://h/1.xml", "http://h/2"])
        #expect(sitemaps.map(\.line) == [2, 4])
        #expect(reader.takeSitemaps().isEmpty)
        #expect(reader.notices.map(\.document) == ["first"] && reader.notices.map(\.line) == [3])
        var assets: [AssetSubmission] = []
        for text in [
            "<urlset><url><loc>http://h/a</loc></url></urlset>", "", "http://h/b\nhttp://h/a",
        ] {
            if !text.isEmpty { assets += try reader.feed([UInt8](text.utf8)) }
            assets += try reader.finishDocument()
        }
        assets += try reader.finish()
        #expect(assets.map(\.url) == ["http://h/a", "http://h/b", "http://h/a"])
        #expect(reader.counts.assets == 2 && reader.counts.repeats == 1)
        var wrong = ListReader(followsIndexes: true)
        #expect(throws: Failure.self) {
            try wrong.feed(
                [UInt8]("<sitemapindex><sitemap><loc>file:///x</loc></sitemap></sitemapindex>".utf8)
            )
        }
    }

    @Test("sitemaps of indexes are bounded")
    func manySitemaps() {
        var reader = ListReader(followsIndexes: true)
        let one = "<sitemap><loc>http://h/1</loc></sitemap>\n"
        let list = "<sitemapindex>" + String(repeating: one, count: ListReader.sitemaps + 1)
        do throws(Failure) {
            _ = try reader.feed([UInt8](list.utf8))
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.code == "input.tooLarge")
            #expect(error.message.hasPrefix("line \(ListReader.sitemaps + 1): "))
        }
    }
}
