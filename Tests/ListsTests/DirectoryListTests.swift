import Lists
import Model
import TestSupport
import Testing

@Suite("Directory listings") struct DirectoryListTests {
    /// Reads one document; returns its files and directories below `http://h/m/`.
    private func read(
        _ text: String, at base: String = "http://h/m/", chunk: Int = 7
    ) throws -> (files: [AssetSubmission], directories: [String]) {
        var reader = ListReader(format: .directory, followsIndexes: true)
        reader.base = base
        var files: [AssetSubmission] = []
        var rest = [UInt8](text.utf8)[...]
        while !rest.isEmpty {
            files += try reader.feed(Array(rest.prefix(chunk)))
            rest = rest.dropFirst(chunk)
        }
        files += try reader.finishDocument()
        return (files, reader.takeSitemaps().map(\.url))
    }

    private static let nginx = """
        <html>\r
        <head><title>Index of /m/</title></head>\r
        <body>\r
        <h1>Index of /m/</h1><hr><pre><a href="../">../</a>
        <a href="sub/">sub/</a>        27-Nov-2026 05:00     -
        <a href="a%20b.m3u8">a b.m3u8</a>   27-Nov-2026 05:00   12
        <a href="x%3Fy.ts">x?y.ts</a>   27-Nov-2026 05:00   12
        </pre><hr></body>\r
        </html>\r

        """
    private static let apache = """
        <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
        <html>
         <head>
          <title>Index of /m</title>
         </head>
         <body>
        <h1>Index of /m</h1>
          <table>
           <tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
        <tr><td><a href="/">Parent Directory</a></td></tr>
        <tr><td><img src="/i.gif"></td><td><a href="b&amp;c.bin">b&amp;c.bin</a></td><td>1.2K</td></tr>
        <tr><td><a href="sub/">sub/</a></td></tr>
        </table>
        </body></html>

        """
    private static let python = """
        <!DOCTYPE HTML>
        <html lang="en">
        <title>Directory listing for /m/</title>
        <body><ul>
        <li><a href="a.bin">a.bin</a></li>
        <li><a href="https://elsewhere.example/m/a">a</a></li>
        <li><a href="//h/n/a">a</a></li>
        <li><a href="/m/a.bin#part">part</a></li>
        </ul></body></html>
        """

    @Test("listings of nginx, Apache httpd and Python name files and directories below")
    func servers() throws {
        let nginx = try read(Self.nginx)
        #expect(nginx.files.map(\.url) == ["http://h/m/a%20b.m3u8", "http://h/m/x%3Fy.ts"])
        #expect(nginx.files.map(\.kind) == [.file, .file])
        #expect(nginx.directories == ["http://h/m/sub/"])
        let apache = try read(Self.apache, chunk: 1_000_000)
        #expect(apache.files.map(\.url) == ["http://h/m/b&c.bin"])
        #expect(apache.directories == ["http://h/m/sub/"])
        let python = try read(Self.python)
        #expect(python.files.map(\.url) == ["http://h/m/a.bin"])
        #expect(python.directories.isEmpty)
    }

    @Test("nginx lists in JSON with lengths")
    func json() throws {
        let found = try read(
            """
            [
            { "name":"sub", "type":"directory", "mtime":"Fri, 27 Nov 2026 05:00:00 GMT" },
            { "name":"a }\\".bin", "type":"file", "mtime":"x", "size":1024 },
            { "name":"a:b", "type":"file", "size":0 },
            { "name":"..", "type":"directory" }, { "name":"../x", "type":"file", "size":1 },
            { "name":"socket", "type":"other", "size":0 }
            ]
            """)
        #expect(found.files.map(\.url) == ["http://h/m/a%20%7D%22.bin", "http://h/m/a%3Ab"])
        #expect(found.files.map(\.bytes) == [1_024, 0])
        #expect(found.directories == ["http://h/m/sub/"])
        #expect(try read("[ ]").files.isEmpty)
    }

    @Test(
        "what is no whole listing is rejected",
        arguments: [
            "<html><body><h1>502 Bad Gateway</h1><a href=\"x\">x</a></body></html>",
            "<html><body>Sign in</body></html>", "", "http://h/a", "{}", "[", "[{\"name\":\"a\"}]",
            "[{\"name\":\"a\",\"type\":\"file\",\"x\":{}}]", "[1]",
            "[{\"name\":\"a\",\"type\":\"file\",\"size\":1}",
            String(Self.nginx.prefix(200)),
        ])
    func others(_ text: String) {
        do {
            let found = try read(text)
            Issue.record("\(found)")
        } catch let failure as Failure {
            #expect(failure.code == "input.malformed")
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test("a directory that was redirected outside of the first one is rejected")
    func redirected() throws {
        var reader = ListReader(format: .directory, followsIndexes: true)
        reader.base = "http://h/m/"
        _ = try reader.feed([UInt8](Self.nginx.utf8))
        _ = try reader.finishDocument()
        reader.base = "http://h/other/"
        #expect(throws: Failure.self) {
            _ = try reader.feed([UInt8](Self.nginx.utf8))
            _ = try reader.finishDocument()
        }
    }
}
