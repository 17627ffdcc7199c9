import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray prefetch` of common lists, and the answers of `dray catalog check`.
    @Suite(.timeLimit(.minutes(2))) struct ListPrefetchTests {
        @Test func aria2InputWithMirrorsAndChecksums() async throws {
            let origin = try await FileOrigin(files: 2)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let sums = try await origin.digests("sha256sum")
            let url = origin.server.url
            let list = home.path("input.txt")
            // The first file is missing where the list looks for it first.
            try """
            # two files
            \(url)/missing/0.bin\t\(url)/\(origin.paths[0])
              out=first.bin
              checksum=sha-256=\(sums[0])
              split=4
            \(url)/\(origin.paths[1])
              checksum=sha-256=\(sums[1])
            """.write(toFile: list, atomically: false, encoding: .utf8)
            let process = try home.prefetch(list)
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            #expect(process.errors.contains("line 5: the option split is ignored"))
            let site = "\(home.edge)/127.0.0.1:\(origin.server.port)"
            let first = FileManager.default.contents(atPath: "\(site)/missing/0.bin")
            #expect(first == origin.content(0))
            #expect(
                FileManager.default.contents(atPath: "\(site)/\(origin.paths[1])")
                    == origin.content(1))
            let report = try Report(home.report)
            #expect(report.asset(named: "first.bin")?["state"] as? String == "completed")
        }

        @Test func aMetalinkWhoseDigestIsNotTheFiles() async throws {
            let origin = try await FileOrigin(files: 2)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let sums = try await origin.digests("sha1sum")
            let url = origin.server.url
            let list = home.path("files.meta4")
            try """
            <?xml version="1.0" encoding="UTF-8"?>
            <metalink xmlns="urn:ietf:params:xml:ns:metalink">
              <file name="good"><hash type="sha-1">\(sums[0])</hash>
                <url priority="9">\(url)/missing</url><url priority="1">\(url)/\(origin.paths[0])</url>
              </file>
              <file name="bad"><hash type="sha-1">\(sums[0])</hash>
                <url>\(url)/\(origin.paths[1])</url></file>
            </metalink>
            """.write(toFile: list, atomically: false, encoding: .utf8)
            let process = try home.prefetch(list)
            #expect(try await process.wait() == .exited(1), "\(process.errors)")
            let report = try Report(home.report)
            #expect(report.failureCode(of: "bad") == "integrity.digestMismatch")
            #expect(report.asset(named: "good")?["state"] as? String == "completed")
            let site = "\(home.edge)/127.0.0.1:\(origin.server.port)"
            #expect(!FileManager.default.fileExists(atPath: "\(site)/\(origin.paths[1])"))
        }

        @Test func aCSVOfThousandsWithRepeats() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let sums = try await origin.digests("md5sum")
            let list = home.path("list.csv")
            var text = "title,url,md5\r\n"
            for number in 0..<6_000 {
                let index = number % 3
                text +=
                    "\"a, \(number)\",\(origin.server.url)/\(origin.paths[index]),\(sums[index])\r\n"
            }
            try text.write(toFile: list, atomically: false, encoding: .utf8)
            let process = try home.prefetch(list)
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            // Named 2,000 times each, in several requests.
            #expect(process.output.contains("3 assets") || process.errors.contains("3 assets"))
            #expect(try Report(home.report).total("assets") == 3)
            try await origin.expectCopied(to: home.edge)
            #expect(origin.requests.count == 3)
            #expect(origin.repeatedRequests == 0)
        }

        @Test func anAssetWithoutSomeOfItsSidecars() async throws {
            let origin = try await FileOrigin(files: 4)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let urls = origin.paths.map { "\(origin.server.url)/\($0)" }
            let list = home.path("list.json")
            let missing = "\(origin.server.url)/missing.jpg"
            try """
            [{"url": "\(urls[0])", "name": "with", "sidecars":
                ["\(urls[1])", {"url": "\(missing)", "required": false}]},
             {"url": "\(urls[2])", "name": "without", "sidecars": ["\(missing)"]},
             "\(urls[3])"]
            """.write(toFile: list, atomically: false, encoding: .utf8)
            let process = try home.prefetch(list)
            #expect(try await process.wait() == .exited(1), "\(process.errors)")
            let report = try Report(home.report)
            let with = report.asset(named: "with")
            #expect(with?["state"] as? String == "completed")
            #expect((with?["files"] as? [Any])?.count == 2)
            let lacks = try #require(with?["missing"] as? [[String: Any]])
            #expect(lacks.map { $0["url"] as? String } == [missing])
            let failure = lacks.first?["failure"] as? [String: Any]
            #expect(failure?["code"] as? String == "origin.http.404")
            #expect(report.failureCode(of: "without") == "origin.http.404")
            #expect(report.total("failed") == 1)
            let site = "\(home.edge)/127.0.0.1:\(origin.server.port)"
            #expect(
                FileManager.default.contents(atPath: "\(site)/\(origin.paths[1])")
                    == origin.content(1))
        }

        @Test func gzipFromAPipe() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let dray = try DrayProcess.binary()
            let process = try ChildProcess(
                [
                    "sh", "-c", "gzip -c \"$1\" | \"$2\" prefetch - --to \"$3\" --state \"$4\"",
                    "sh",
                    origin.list, dray, home.edge, home.path("state"),
                ], environment: ["HOME": home.path("own")])
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            try await origin.expectCopied(to: home.edge)
        }

        @Test func aListIsCheckedWithoutACluster() async throws {
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.csv")
            try """
            url,bytes,sha256
            http://127.0.0.1:1/a,5,\(String(repeating: "0", count: 64))
            http://127.0.0.1:1/b.m3u8,,
            http://127.0.0.1:1/a,5,\(String(repeating: "0", count: 64))
            """.write(toFile: list, atomically: false, encoding: .utf8)
            let good = try home.start(["catalog", "check", list, "--json"])
            #expect(try await good.wait() == .exited(0), "\(good.errors)")
            let answer = try #require(
                try JSONSerialization.jsonObject(with: Data(good.output.utf8)) as? [String: Any])
            #expect(answer["format"] as? String == "csv")
            for (field, value) in [
                "assets": 2, "titles": 1, "files": 1, "knownBytes": 5, "withDigest": 1,
                "repeats": 1, "errorCount": 0,
            ] {
                #expect((answer[field] as? NSNumber)?.intValue == value, "\(field)")
            }

            let bad = home.path("bad.txt")
            try "http://h/1\nftp://h/2\nhttp://h/3\nh/4\nhttp://h/1\n http://h/1#x\n"
                .write(toFile: bad, atomically: false, encoding: .utf8)
            let told = try home.start(["catalog", "check", bad, "--errors", "1"])
            #expect(try await told.wait() == .exited(2))
            #expect(told.errors.contains("\(bad): line 2, column 1: the URL must start"))
            #expect(told.errors.contains("and 1 more error"))
            #expect(told.output.contains("a URL a line"))
            let forced = try home.start(["catalog", "check", bad, "--format", "xls"])
            #expect(try await forced.wait() == .exited(2))
            #expect(forced.errors.contains("gsts"))
            let url = try home.start(["catalog", "check", "http://h/list.csv", "--format", "csv"])
            #expect(try await url.wait() == .exited(2))
            #expect(url.errors.contains("--format cannot be used with a URL"))
        }

        /// A gigabyte without an end of line, each in the form that it looks like.
        @Test(
            arguments: [
                "http://h/", "{\"url\": \"", "[\"", "\"http://h/", "url,name\n\"",
                "TsvHttpData-1.0\n", "http://h/1\n  out=", "<urlset><url><loc>", "<metalink ",
                "<!--", "{\"name\": \"", "", "# ",
            ])
        func anEndlessLineEndsSoon(start: String) async throws {
            let dray = try DrayProcess.binary()
            // The list is endless: only the check can end it.
            let process = try ChildProcess([
                "bash", "-c",
                "{ printf '%s' \"$1\"; tr '\\0' x </dev/zero; } | \"$2\" catalog check - --json",
                "bash", start, dray,
            ])
            #expect(try await process.wait() == .exited(2), "\(process.errors)")
            #expect(
                process.output.contains("input.tooLarge")
                    || process.output.contains("input.malformed")
                    || process.output.contains("input.url"), "\(process.output)")
        }
    }
}
