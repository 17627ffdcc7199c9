import API
import JobQueue
import Model
import TestSupport
import Testing

/// Signed URLs that expired and that no manifest renews: the list is submitted again.
@Suite struct ResubmissionTests {
    typealias F = QueueFixture
    typealias R = RenewalTests

    @Test func unlistedSegmentsFailAndTheNextStartReadsThemAgain() async throws {
        try await F.with { fixture in
            let (catalog, work) = try await R.begin(fixture, 3)
            _ = try await fixture.report(
                [
                    F.done(work.jobs[0], work), R.refused(work.jobs[1], work),
                    R.refused(work.jobs[2], work),
                ])
            // One more comes before it, so that it has another number.
            var listed = R.segments(4, signature: "new")
            listed[0] = ResolvedSegment(
                ordinal: 0, url: "http://cdn.test/t/ad.ts", key: "cdn.test/t/ad.ts", role: .media)
            listed[2].url = "http://cdn.test/t/1.ts?Policy=p&Signature=new"
            listed[2].key = "cdn.test/t/1.ts"
            listed[1].key = "cdn.test/t/other.ts"
            listed[3].key = "cdn.test/t/3.ts"
            try await R.read(fixture, try await fixture.lease(), listed)
            #expect(try await R.failures(fixture) == ["cdn.test/t/2.ts": "manifest.changed"])
            let fresh = try await fixture.lease()
            #expect(fresh.jobs.map(\.url) == [listed[2].url])
            _ = try await fixture.report([F.done(fresh.jobs[0], fresh)])
            #expect(try await fixture.assets(of: catalog)[0].state == .failed)
            try await fixture.submit([F.title("t")])
            #expect(try await fixture.lease().jobs.map(\.kind) == [.resolve])
        }
    }

    @Test func aManifestWhoseOwnURLHasExpiredIsToBeSubmittedAgain() async throws {
        try await F.with { fixture in
            var title = F.title("t")
            title.url += "?token=a&Expires=1700000000"
            let catalog = try await fixture.submit([title])
            try await R.read(
                fixture, try await fixture.lease(), R.segments(3, signature: "old"))
            let work = try await fixture.lease()
            _ = try await fixture.report(
                [F.done(work.jobs[0], work), R.refused(work.jobs[1], work)])
            let manifest = try await fixture.lease()
            _ = try await fixture.report([R.refused(manifest.jobs[0], manifest)])
            #expect(
                try await R.failures(fixture) == [work.jobs[1].key: "origin.signatureExpired"])
            // Its last segment still runs.
            #expect(try await fixture.assets(of: catalog)[0].state == .inProgress)
            _ = try await fixture.report([F.done(work.jobs[2], work)])
            let failed = try await fixture.assets(of: catalog)[0]
            #expect(failed.state == .failed && failed.failure?.code == "origin.signatureExpired")
            #expect(failed.failure?.message.contains("submit the list again") == true)

            title.url = F.title("t").url + "?token=b&Expires=1800000000"
            try await fixture.submit([title])
            let read = try await fixture.lease()
            #expect(read.jobs.map(\.url) == [title.url])
            try await R.read(fixture, read, R.segments(3, signature: "new"))
            let jobs = try await fixture.drain().filter { $0.kind == .fetch }
            #expect(jobs.filter { $0.previous == nil }.map(\.key) == [work.jobs[1].key])
            #expect(
                jobs.map(\.url) == R.segments(3, signature: "new").map(\.url))
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            // And once more: its files are looked at where they lie, and no manifest is read.
            title.url = F.title("t").url + "?token=c&Expires=1900000000"
            try await fixture.submit([title])
            let checks = try await fixture.drain().filter { $0.kind != .checksums }
            #expect(checks.count == 3 && checks.allSatisfy { $0.previous != nil })
        }
    }

    @Test func aFileIsToBeSubmittedAgain() async throws {
        try await F.with { fixture in
            var file = F.file("f")
            file.url += "?X-Amz-Signature=a"
            let catalog = try await fixture.submit([file])
            let grant = try await fixture.lease()
            _ = try await fixture.report([R.refused(grant.jobs[0], grant)])
            let failure = try await fixture.assets(of: catalog)[0].failure
            #expect(failure?.code == "origin.signatureExpired")
            file.url = F.file("f").url + "?X-Amz-Signature=b"
            try await fixture.submit([file])
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.url) == [file.url])
            // Submitted once more while it is fetched: rejected with its previous URL, it has another try.
            file.url = F.file("f").url + "?X-Amz-Signature=c"
            try await fixture.submit([file])
            var late = R.refused(again.jobs[0], again)
            late.refused = String(repeating: "0", count: 64)
            _ = try await fixture.report([late])
            let fresh = try await fixture.lease()
            #expect(fresh.jobs.map(\.url) == [file.url])
            _ = try await fixture.report([F.done(fresh.jobs[0], fresh)])
            // A completed one is checked, not fetched, with any signature.
            file.url = F.file("f").url + "?X-Amz-Signature=d"
            try await fixture.submit([file])
            #expect(
                try await fixture.drain().filter { $0.kind == .fetch }.map { $0.previous?.bytes }
                    == [10])
        }
    }

    @Test func aSidecarWithAFreshSignatureIsNotFetchedAgain() async throws {
        try await F.with { fixture in
            func file(_ signature: String) -> AssetSubmission {
                var file = F.file("f")
                file.sidecars = ["a", "b"].map { name in
                    SidecarSubmission(
                        url: "http://origin.test/\(name).vtt?Signature=\(signature)",
                        key: "origin.test/\(name).vtt", role: .subtitles, required: true)
                }
                return file
            }
            let catalog = try await fixture.submit([file("old")])
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map {
                    $0.key.hasSuffix("b.vtt")
                        ? R.refused($0, grant) : F.done($0, grant)
                })
            let failure = try await fixture.assets(of: catalog)[0].failure
            #expect(failure?.code == "origin.signatureExpired")
            try await fixture.submit([file("new")])
            let jobs = try await fixture.drain().filter { $0.kind == .fetch }
            #expect(jobs.map(\.url) == ["http://origin.test/b.vtt?Signature=new"])
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }
}
