import Foundation
import Testing

@testable import Planner

/// Which files an access log says were requested.
@Suite struct RequestedFilesTests {
    private static func read(
        _ text: String, prefix: String = "/", since: Double = 0, chunk: Int = 7
    ) -> RequestedFiles {
        var files = RequestedFiles(prefix: prefix, since: since)
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: chunk) {
            files.read(Array(bytes[start..<min(start + chunk, bytes.count)]))
        }
        files.endLog()
        return files
    }

    private static func keys(_ text: String, prefix: String = "/") -> [String] {
        var files = read(text, prefix: prefix)
        return files.take()?.files.map(\.key) ?? []
    }

    @Test func theCommonAndTheCombinedFormatAreRead() {
        var files = Self.read(
            """
            1.2.3.4 - - [10/Oct/2026:13:55:36 +0200] "GET /media/a/1.ts?t=1 HTTP/1.1" 200 100
            1.2.3.4 - - [10/Oct/2026:13:55:36 +0200] "GET /media/a/1.ts HTTP/1.1" 206 50 "-" "agent [x]"
            1.2.3.4 - - [10/Oct/2026:13:55:36 +0200] "GET /media/b%20c.mp4 HTTP/1.1" 304 -
            1.2.3.4 - - [10/Oct/2026:13:55:36 +0200] "GET /media/gone HTTP/1.1" 404 100
            1.2.3.4 - - [10/Oct/2026:13:55:36 +0200] "POST /media/a/1.ts HTTP/1.1" 200 100
            1.2.3.4 - - [10/Oct/2026:13:55:36 +0200] "GET /other HTTP/1.1" 200 100
            1.2.3.4 - - [10/Oct/2026:13:55:36 +0200] "" 400 0
            nothing
            """, prefix: "/media")
        let (time, sums) = files.take() ?? (0, [])
        #expect(time == 1_791_633_336)
        #expect(
            sums == [
                RequestedFiles.File(key: "a/1.ts", requests: 2, bytes: 150),
                RequestedFiles.File(key: "b c.mp4", requests: 1, bytes: 0),
            ])
        #expect(files.requests == 3 && files.skippedLines == 3 && files.unreadableLines == 2)
        #expect(files.take() == nil)
    }

    @Test(arguments: [
        #"{"time_iso8601":"2026-10-10T13:55:36+02:00","request":"GET /k HTTP/1.1","status":"200","body_bytes_sent":"7"}"#,
        #"{"time":"10/Oct/2026:13:55:36 +0200","uri":"/k","method":"GET","status":200,"bytes_sent":7}"#,
        #"{"ts":1791633336.7,"request":{"method":"GET","uri":"/k?x","headers":{"A":["b",null]}},"status":200,"size":7}"#,
        #"{"StartUTC":"2026-10-10T11:55:36.123Z","RequestPath":"/k","DownstreamStatus":206,"DownstreamContentSize":7}"#,
    ])
    func jsonIsRead(line: String) {
        var files = Self.read(line + "\n{\"time\":1}\n{\"uri\":\"/k\"}\n{broken\n")
        let found = files.take()
        #expect(found?.files == [RequestedFiles.File(key: "k", requests: 1, bytes: 7)])
        #expect(found.map { abs($0.time - 1_791_633_336) < 1 } == true)
        #expect(files.unreadableLines == 3)
    }

    @Test func cloudFrontsLogsAreRead() {
        let text = """
            #Version: 1.0
            #Fields: date time sc-bytes cs-method cs-uri-stem sc-status
            2026-10-10\t11:55:36\t10\tGET\t/k\t200
            2026-10-10\t11:55:36\t10\tHEAD\t/k\t200
            """
        var files = Self.read(text)
        #expect(
            files.take()?.files == [RequestedFiles.File(key: "k", requests: 1, bytes: 10)])
    }

    @Test func anOlderRequestCountsLess() {
        func line(_ day: Int) -> String {
            "h - - [\(day)/Oct/2026:00:00:00 +0000] \"GET /k HTTP/1.1\" 200 100\n"
        }
        var files = Self.read(line(10) + line(17) + line(24))
        let found = files.take()
        #expect(found.map { abs($0.files[0].requests - 1.75) < 1e-9 } == true)
        #expect(found.map { abs($0.files[0].bytes - 175) < 1e-6 } == true)
        // In another order the same.
        files = Self.read(line(24) + line(10) + line(17))
        #expect(files.take().map { abs($0.files[0].requests - 1.75) < 1e-9 } == true)
        files = Self.read(line(10) + line(24), since: 1_792_800_000)
        #expect(files.take()?.files[0].requests == 1 && files.skippedLines == 1)
    }

    @Test func manyFilesAreTakenInParts() {
        var files = RequestedFiles(maxFiles: 10)
        var taken = 0
        for number in 0..<100 {
            files.read(
                Array("h - - [10/Oct/2026:00:00:00 +0000] \"GET /\(number) HTTP/1.1\" 200 1\n".utf8)
            )
            guard files.isFull else { continue }
            taken += files.take()?.files.count ?? 0
        }
        #expect(taken == 100)
    }

    @Test func hostilePathsAreNoKeys() {
        let paths = ["/", "/%00", "/\(String(repeating: "a", count: 3_000))", "/%ff"]
        for path in paths {
            #expect(
                Self.keys("h - - [10/Oct/2026:00:00:00 +0000] \"GET \(path) HTTP/1.1\" 200 1")
                    .isEmpty)
        }
        #expect(
            Self.keys("h - - [10/Oct/2026:00:00:00 +0000] \"GET /%zz%2 HTTP/1.1\" 200 1")
                == ["%zz%2"])
    }
}
