internal import LoadModel
internal import Model
internal import Titles

/// Writes the requests of one loop. The parts that requests to an origin share are prepared once.
struct HTTP1RequestWriter {
    /// By origin, all that follows the path, except the range and the empty line.
    private var endings: [[UInt8]] = []
    private var prefixes: [Int] = []
    private let common: String

    init(_ routes: HTTP1Routes, _ http: LoadHTTP, userAgent: String) {
        // In libcurl's order.
        let names = Set(http.headers.map { $0.name.lowercased() })
        var lines: [String] = []
        if !names.contains("user-agent") { lines.append("User-Agent: \(userAgent)") }
        if !names.contains("accept") { lines.append("Accept: */*") }
        lines += http.headers.map(\.line)
        common = lines.map { "\($0)\r\n" }.joined()
        for origin in routes.origins { add(origin) }
    }

    mutating func add(_ origin: HTTP1Routes.Origin) {
        endings.append(Array(" HTTP/1.1\r\nHost: \(origin.authority)\r\n\(common)".utf8))
        prefixes.append(origin.prefixBytes)
    }

    /// Replaces the contents of `output` with a request.
    func write(
        _ url: String, _ range: SegmentRange?, _ addition: ViewerAddition?, origin: Int,
        to output: inout [UInt8]
    ) {
        output.removeAll(keepingCapacity: true)
        output.append(contentsOf: "GET ".utf8)
        let isWhole: Void? = url.utf8.withContiguousStorageIfAvailable {
            Self.append($0.dropFirst(prefixes[origin]), to: &output)
        }
        if isWhole == nil {
            Self.append(ArraySlice(Array(url.utf8).dropFirst(prefixes[origin])), to: &output)
        }
        if let addition, !addition.query.isEmpty {
            let isFirst = !url.utf8.contains(UInt8(ascii: "?"))
            output.append(UInt8(ascii: isFirst ? "?" : "&"))
            output.append(contentsOf: addition.query.utf8)
        }
        output.append(contentsOf: endings[origin])
        if let addition { output.append(contentsOf: addition.lines) }
        if let range {
            let last = range.length.map { "\(range.offset + $0 - 1)" } ?? ""
            output.append(contentsOf: "Range: bytes=\(range.offset)-\(last)\r\n".utf8)
        }
        output.append(13)
        output.append(10)
    }

    private static func append(_ path: some Collection<UInt8>, to output: inout [UInt8]) {
        if path.first != UInt8(ascii: "/") { output.append(UInt8(ascii: "/")) }
        output.append(contentsOf: path)
    }
}
