import Model
import Text

extension WebURL {
    /// Parses the absolute URL in `range` of `bytes`.
    ///
    /// - Parameter climbing: See `Parser`.
    package static func parse(
        _ bytes: [UInt8], _ range: Range<Int>, climbing: Int? = nil
    ) throws(WebURLError) -> WebURL {
        var parser = Parser(bytes, range, climbing: climbing)
        return try parser.run()
    }

    /// The state of one parse.
    struct Parser {
        private let bytes: [UInt8]
        private let range: Range<Int>
        private let maxClimbed: Int?
        private var out: [UInt8] = []
        /// Number of folders above the root that `..` has requested.
        private var climbed = 0

        /// - Parameter climbing: Maximum folders above the root that a reference may request by
        ///   `..`; nil for other URLs. Spaces in a reference are percent-encoded, elsewhere
        ///   rejected.
        init(_ bytes: [UInt8], _ range: Range<Int>, climbing: Int?) {
            self.bytes = bytes
            self.range = range
            maxClimbed = climbing
        }

        /// Parses an absolute URL.
        mutating func run() throws(WebURLError) -> WebURL {
            try checkBytes()
            out.reserveCapacity(range.count + 8)
            let path = try takeScheme()
            let isSecure = out.count == 8
            let index = try takeAuthority(from: path, defaultPort: isSecure ? 443 : 80)
            let pathStart = out.count
            return try finish(try takePath(from: index, root: pathStart), pathStart: pathStart)
        }

        /// Parses a reference without a scheme and a host.
        mutating func runReference(to base: ReferenceBase) throws(WebURLError) -> WebURL {
            try checkBytes()
            let start = range.lowerBound
            guard let first = range.first, bytes[first] != ASCII.hash else { return base.url }
            let pathStart = base.url.pathStart
            out.reserveCapacity(base.bytes.count + range.count + 8)
            if bytes[first] == ASCII.question {
                out += base.bytes[..<base.url.queryStart]
                return try finish(start, pathStart: pathStart)
            }
            // Both end before the slash that continues the path.
            out += bytes[first] == ASCII.slash ? base.bytes[..<pathStart] : base.folder.dropLast()
            return try finish(try takePath(from: start, root: pathStart), pathStart: pathStart)
        }

        private mutating func finish(
            _ index: Int, pathStart: Int
        ) throws(WebURLError) -> WebURL {
            let queryStart = out.count
            takeQuery(from: index)
            if out.count > WireLimits.urlBytes {
                throw error(
                    .tooLong, "is longer than \(WireLimits.urlBytes) bytes", range.upperBound)
            }
            return WebURL(
                text: String(decoding: out, as: UTF8.self), pathStart: pathStart,
                queryStart: queryStart)
        }

        private func error(
            _ reason: WebURLError.Reason, _ detail: String, _ index: Int
        ) -> WebURLError {
            WebURLError(reason: reason, detail: detail, offset: index - range.lowerBound)
        }

        private func checkBytes() throws(WebURLError) {
            if range.count > WireLimits.urlBytes {
                throw error(
                    .tooLong, "is longer than \(WireLimits.urlBytes) bytes", range.upperBound)
            }
            for index in range {
                let isRefused =
                    ASCII.isControl(bytes[index])
                    || bytes[index] == ASCII.space && maxClimbed == nil
                guard isRefused else { continue }
                throw error(
                    .character,
                    bytes[index] == ASCII.space
                        ? "holds a space; write it as %20" : "holds a control character", index)
            }
        }

        private mutating func takeScheme() throws(WebURLError) -> Int {
            if ASCII.hasPrefixIgnoringCase(bytes, range, "http://") {
                out.append(contentsOf: "http://".utf8)
                return range.lowerBound + 7
            }
            if ASCII.hasPrefixIgnoringCase(bytes, range, "https://") {
                out.append(contentsOf: "https://".utf8)
                return range.lowerBound + 8
            }
            throw error(.scheme, "must start with http:// or https://", range.lowerBound)
        }

        private mutating func takeAuthority(
            from start: Int, defaultPort: Int
        ) throws(WebURLError) -> Int {
            var end = start
            while end < range.upperBound, bytes[end] != ASCII.slash, bytes[end] != ASCII.question,
                bytes[end] != ASCII.hash
            { end += 1 }
            for index in start..<end where bytes[index] == ASCII.at {
                throw error(
                    .userInformation, "must not hold a user name or password", start)
            }
            var hostEnd = start
            if start < end, bytes[start] == ASCII.openBracket {
                while hostEnd < end, bytes[hostEnd] != ASCII.closeBracket { hostEnd += 1 }
                guard hostEnd < end, WebHost.isIPv6(bytes, (start + 1)..<hostEnd) else {
                    throw error(.host, "has a host in brackets that is no IPv6 address", start)
                }
                hostEnd += 1
            } else {
                while hostEnd < end, bytes[hostEnd] != ASCII.colon { hostEnd += 1 }
                if let problem = WebHost.problem(bytes, start..<hostEnd) {
                    throw error(.host, problem, start)
                }
            }
            for index in start..<hostEnd { out.append(ASCII.lowercased(bytes[index])) }
            if hostEnd < end {
                try takePort(from: hostEnd, to: end, defaultPort: defaultPort)
            }
            return end
        }

        private mutating func takePort(
            from colon: Int, to end: Int, defaultPort: Int
        ) throws(WebURLError) {
            guard bytes[colon] == ASCII.colon else {
                throw error(.host, "has something after its host", colon)
            }
            guard colon + 1 < end else { return }
            var port = 0
            for index in (colon + 1)..<end {
                guard ASCII.isDigit(bytes[index]), port <= 65_535 else {
                    throw error(.port, "has a port that is not 1 to 65535", colon + 1)
                }
                port = port * 10 + Int(bytes[index] - 0x30)
            }
            guard (1...65_535).contains(port) else {
                throw error(.port, "has a port that is not 1 to 65535", colon + 1)
            }
            if port != defaultPort { out.append(contentsOf: ":\(port)".utf8) }
        }

        /// Percent-encodes bytes where required and resolves dot segments (RFC 3986, section
        /// 5.2.4).
        ///
        /// - Parameter root: Start of the path in `out`.
        private mutating func takePath(from start: Int, root: Int) throws(WebURLError) -> Int {
            var index = start
            if index < range.upperBound, bytes[index] == ASCII.slash { index += 1 }
            out.append(ASCII.slash)
            while index < range.upperBound, bytes[index] != ASCII.question,
                bytes[index] != ASCII.hash
            {
                if out[out.count - 1] == ASCII.slash, let length = dotSegment(at: index) {
                    if length == 2 { leaveFolder(root: root) }
                    index += length
                    if index < range.upperBound, bytes[index] == ASCII.slash { index += 1 }
                    continue
                }
                let end = plainPathEnd(from: index)
                if end > index {
                    bytes.withUnsafeBufferPointer {
                        out.append(contentsOf: UnsafeBufferPointer(rebasing: $0[index..<end]))
                    }
                    index = end
                } else if bytes[index] == ASCII.percent {
                    throw error(
                        .escape, "has a % without two hex digits in its path; write %25", index)
                } else {
                    ASCII.appendEscape(of: bytes[index], to: &out)
                    index += 1
                }
            }
            if let maxClimbed, climbed > maxClimbed {
                throw error(
                    .climb, "climbs \(climbed) folders above the root of its host by '..'",
                    range.lowerBound)
            }
            return index
        }

        /// Returns the length of the dot segment, one or two dots, that begins at `start`.
        private func dotSegment(at start: Int) -> Int? {
            var end = start
            while end < range.upperBound, bytes[end] == ASCII.dot { end += 1 }
            guard (1...2).contains(end - start) else { return nil }
            guard end < range.upperBound else { return end - start }
            let isWhole =
                bytes[end] == ASCII.slash || bytes[end] == ASCII.question
                || bytes[end] == ASCII.hash
            return isWhole ? end - start : nil
        }

        /// Removes the last folder of `out`, which ends in a slash.
        private mutating func leaveFolder(root: Int) {
            guard out.count - 1 > root else {
                climbed += 1
                return
            }
            out.removeLast()
            while out[out.count - 1] != ASCII.slash { out.removeLast() }
        }

        /// Returns the end of the unchanged part of a path: before a byte that must be encoded or
        /// ends the path, or after a slash before a dot.
        private func plainPathEnd(from start: Int) -> Int {
            bytes.withUnsafeBufferPointer { bytes in
                var index = start
                while index < range.upperBound {
                    let byte = bytes[index]
                    if ASCII.isIn(.path, byte) {
                        index += 1
                        let mayLeadUp =
                            byte == ASCII.slash && index < range.upperBound
                            && bytes[index] == ASCII.dot
                        if mayLeadUp { return index }
                    } else if byte == ASCII.percent, index + 2 < range.upperBound,
                        ASCII.hexValue(bytes[index + 1]) != nil,
                        ASCII.hexValue(bytes[index + 2]) != nil
                    {
                        index += 3
                    } else {
                        return index
                    }
                }
                return index
            }
        }

        private mutating func takeQuery(from start: Int) {
            guard start < range.upperBound, bytes[start] == ASCII.question else { return }
            var index = start + 1
            guard index < range.upperBound, bytes[index] != ASCII.hash else { return }
            out.append(ASCII.question)
            while true {
                index = ASCII.appendRun(of: bytes, index..<range.upperBound, to: &out) {
                    ASCII.isIn(.query, $0)
                }
                guard index < range.upperBound, bytes[index] != ASCII.hash else { return }
                ASCII.appendEscape(of: bytes[index], to: &out)
                index += 1
            }
        }
    }
}

/// Rules for the host of a URL.
enum WebHost {
    /// Returns the problem of the registered name or IPv4 address in `range`, or nil.
    ///
    /// Allowed are letters, digits, `-`, `_` and dots; labels of 1 to 63 bytes, 253 bytes in total.
    /// A name whose last label is a number must be an IPv4 address of four decimal numbers: other
    /// forms (`127.1`, `0x7f000001`) can evade address filters.
    static func problem(_ bytes: [UInt8], _ range: Range<Int>) -> String? {
        if range.isEmpty { return "has no host" }
        var labelBytes = 0
        var labels = 1
        var lastStart = range.lowerBound
        for index in range {
            let byte = bytes[index]
            if byte == ASCII.dot {
                if labelBytes == 0 { return "has a host with an empty label" }
                labelBytes = 0
                labels += 1
                lastStart = index + 1
            } else if byte >= 0x80 {
                return "has an international host name; write it in its ASCII form (xn--…)"
            } else if ASCII.isAlphanumeric(byte) || byte == ASCII.minus || byte == 0x5F {
                labelBytes += 1
                if labelBytes > 63 { return "has a host label of more than 63 characters" }
            } else {
                return "has a host with a character that is not a letter, digit, -, _ or ."
            }
        }
        if labelBytes == 0 { return "has a host with an empty label" }
        if range.count > 253 { return "has a host of more than 253 characters" }
        let last = lastStart..<range.upperBound
        let isNumber =
            last.allSatisfy { ASCII.isDigit(bytes[$0]) }
            || ASCII.hasPrefixIgnoringCase(bytes, last, "0x")
                && last.dropFirst(2).allSatisfy { ASCII.hexValue(bytes[$0]) != nil }
        if isNumber, labels != 4 || !isIPv4(bytes, range) {
            return "has a host that ends in a number but is no IPv4 address"
        }
        return nil
    }

    /// Returns true for four decimal numbers of 0 to 255 without leading zeros.
    static func isIPv4(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        let parts = bytes[range].split(separator: ASCII.dot, omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                guard (1...3).contains(part.count), part.allSatisfy(ASCII.isDigit),
                    part.count == 1 || part.first != 0x30
                else { return false }
                return part.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 255
            }
    }

    /// Returns true for an IPv6 address in the form of RFC 4291 section 2.2, without a zone.
    static func isIPv6(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        guard (2...45).contains(range.count) else { return false }
        var groups = 0
        var sawGap = false
        var index = range.lowerBound
        if bytes[index] == ASCII.colon {
            guard bytes[index + 1] == ASCII.colon else { return false }
            sawGap = true
            index += 2
        }
        while index < range.upperBound {
            var end = index
            while end < range.upperBound, bytes[end] != ASCII.colon { end += 1 }
            let group = bytes[index..<end]
            if end == range.upperBound, group.contains(ASCII.dot) {
                guard isIPv4(bytes, index..<end) else { return false }
                groups += 2
                break
            }
            guard (1...4).contains(group.count), group.allSatisfy({ ASCII.hexValue($0) != nil })
            else { return false }
            groups += 1
            index = end
            guard index < range.upperBound else { break }
            index += 1
            if index == range.upperBound { return false }
            if bytes[index] == ASCII.colon {
                guard !sawGap else { return false }
                sawGap = true
                index += 1
            }
        }
        return sawGap ? groups < 8 : groups == 8
    }
}
