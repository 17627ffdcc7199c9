internal import CCurl

/// Header lines of a request, as libcurl keeps them; confined to one loop.
package final class CurlHeaders {
    let list: UnsafeMutablePointer<curl_slist>

    /// Takes `lines` in the form "Name: value"; rejects one with CR, LF or NUL (header injection).
    package init(_ lines: [String]) throws(CurlError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            let isClean = !line.utf8.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }
            let next = isClean ? curl_slist_append(list, line) : nil
            guard let next else {
                curl_slist_free_all(list)
                throw CurlError(.failedInit, "a header line with a line break")
            }
            list = next
        }
        guard let list else { throw CurlError(.failedInit, "no header line") }
        self.list = list
    }

    deinit { curl_slist_free_all(list) }
}
