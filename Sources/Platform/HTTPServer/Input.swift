/// Received and unused bytes of requests.
struct Input {
    private var bytes: [UInt8] = []
    /// Bytes that were searched for the end of a head.
    private var searchedBytes = 0
    /// Bytes received after the last request.
    private(set) var droppedBytes = 0

    var isEmpty: Bool { bytes.isEmpty }

    mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    mutating func set(_ rest: [UInt8]) { bytes = rest }

    mutating func removeAll() { bytes = [] }

    mutating func drop(_ count: Int) { droppedBytes += count }

    /// Removes all bytes, and returns the head that they begin with and the rest; nil if more of the
    /// head must arrive first.
    mutating func takeHead() throws(HTTPServer.Rejection) -> (RequestHead, rest: [UInt8])? {
        // Some clients end a body with a line end that is not part of it (RFC 9112, 2.2).
        let blanks = bytes.prefix { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.count
        if blanks > 0 {
            bytes.removeFirst(blanks)
            searchedBytes = 0
            if bytes.isEmpty { return nil }
        }
        let (length, head) = try bytes.withUnsafeBufferPointer {
            buffer throws(HTTPServer.Rejection) -> (Int, RequestHead?) in
            let bytes = UnsafeRawBufferPointer(buffer)
            guard let length = try RequestHead.length(in: bytes, from: searchedBytes) else {
                return (bytes.count, nil)
            }
            let head = UnsafeRawBufferPointer(rebasing: bytes[..<length])
            return (length, try RequestHead(head))
        }
        guard let head else {
            searchedBytes = length
            return nil
        }
        let rest = Array(bytes[length...])
        bytes = []
        searchedBytes = 0
        return (head, rest)
    }
}
