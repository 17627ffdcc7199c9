internal import Curl
internal import Glibc

/// Finds the user at the other end of a connection within this machine.
///
/// The kernel lists every TCP socket with its user in `/proc/net/tcp` and `tcp6` (proc(5)). This
/// looks up the entry of the connection itself, not of the process that listens at the port now.
enum PeerOwner {
    enum Answer: Equatable {
        case user(UInt32)
        /// The other end is not in the tables: it is in another network namespace, or on another
        /// machine.
        case unlisted
        /// The other end has closed.
        case closed
    }

    /// Number of attempts: a table that changes during a read may lack an entry.
    private static let tries = 3

    static func find(_ ends: ConnectionEnds) -> Answer {
        for _ in 1...tries {
            for (table, form) in [("tcp", Form.v4), ("tcp6", .v6)] {
                guard let entry = Entry(ends, in: form),
                    let answer = entry.look(up: text(of: "/proc/net/\(table)"))
                else { continue }
                return answer
            }
        }
        return .unlisted
    }

    private static func text(of path: String) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(file, &block, block.count)
            if count < 0, errno == EINTR { continue }
            // Each read returns at most a page.
            guard count > 0 else { return bytes }
            bytes += block[..<count]
        }
    }

    /// The form of addresses in a table: words of 32 bits in the machine's byte order, as
    /// hexadecimal digits.
    private enum Form {
        case v4
        /// With IPv4-mapped addresses, as in an IPv6 socket.
        case v6

        func text(_ address: PeerAddress, _ port: UInt16) -> String? {
            let bytes: [UInt8]
            switch (self, address) {
            case (.v4, .v4(let address)), (.v6, .v6(let address)): bytes = address
            case (.v6, .v4(let address)):
                bytes = Array(repeating: 0, count: 10) + [0xFF, 0xFF] + address
            default: return nil
            }
            return Self.words(bytes).map { Self.digits($0, 8) }.joined() + ":"
                + Self.digits(UInt32(port), 4)
        }

        private static func words(_ bytes: [UInt8]) -> [UInt32] {
            bytes.withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count, by: 4).map {
                    bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self)
                }
            }
        }

        private static func digits(_ value: UInt32, _ count: Int) -> String {
            let text = String(value, radix: 16, uppercase: true)
            return String(repeating: "0", count: count - text.count) + text
        }

        /// Returns the wildcard address, to which most listening sockets are bound.
        func any(_ port: UInt16) -> String {
            String(repeating: "0", count: self == .v4 ? 8 : 32) + ":" + Self.digits(UInt32(port), 4)
        }
    }

    /// The other end in a table's form.
    private struct Entry {
        let here: [UInt8]
        let there: [UInt8]
        let any: [UInt8]
        /// End of the address of a socket that listens at the port.
        let port: [UInt8]

        init?(_ ends: ConnectionEnds, in form: Form) {
            guard let there = form.text(ends.peer, ends.peerPort),
                let here = form.text(ends.local, ends.localPort)
            else { return nil }
            self.here = Array(here.utf8)
            self.there = Array(there.utf8)
            any = Array(form.any(ends.peerPort).utf8)
            port = Array(there.utf8.suffix(5))
        }

        /// Returns the lines of sockets here at the port. A busy machine has tens of thousands of
        /// others.
        private func lines(of table: [UInt8]) -> [ArraySlice<UInt8>] {
            var lines: [ArraySlice<UInt8>] = []
            table.withUnsafeBytes { bytes in
                func index(of character: Unicode.Scalar, from begin: Int) -> Int? {
                    guard begin < bytes.count, let base = bytes.baseAddress else { return nil }
                    return memchr(base + begin, Int32(character.value), bytes.count - begin)
                        .map { UnsafeRawPointer($0) - base }
                }
                var begin = 0
                while begin < bytes.count {
                    let end = index(of: "\n", from: begin) ?? bytes.count
                    // `  12: 0100007F:1F90 …`: the second colon precedes the port.
                    if let number = index(of: ":", from: begin),
                        let colon = index(of: ":", from: number + 1), colon + port.count <= end,
                        bytes[colon..<colon + port.count].elementsEqual(port)
                    {
                        lines.append(table[begin..<end])
                    }
                    begin = end + 1
                }
            }
            return lines
        }

        /// Finds the entry in a table; returns nil if it is missing.
        func look(up table: [UInt8]) -> Answer? {
            var listener: UInt32?
            for line in lines(of: table) {
                let columns = line.split(separator: UInt8(ascii: " "), maxSplits: 10)
                guard columns.count > 9, columns[1].suffix(5).elementsEqual(port),
                    let user = UInt32(String(decoding: columns[7], as: UTF8.self))
                else { continue }
                let state = String(decoding: columns[3], as: UTF8.self)
                let isAtAddress = columns[1].elementsEqual(there)
                if state == "0A", isAtAddress || columns[1].elementsEqual(any) {
                    listener = user
                }
                guard isAtAddress, columns[2].elementsEqual(here) else { continue }
                switch state {
                case "01" where columns[9] != [UInt8(ascii: "0")][...]: return .user(user)
                // A connection that is not accepted yet belongs to the listening socket, whose
                // entry precedes it.
                case "01", "03": return listener.map { .user($0) }
                default: return .closed
                }
            }
            return nil
        }
    }
}
