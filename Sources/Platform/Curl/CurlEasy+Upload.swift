internal import CCurl

extension CurlEasy {
    /// Sets up a request with any method.
    ///
    /// - Parameter body: Sent with its length; it must stay valid until the request has ended. Nil
    ///   for none.
    package func setRequest(
        _ method: String, borrowing body: UnsafeRawBufferPointer?
    ) throws(CurlError) {
        if let body {
            try require(dray_easy_set_post(handle, 1), method)
            try require(
                dray_easy_set_borrowed_body(handle, body.baseAddress, Int64(body.count)), method)
        } else {
            try require(dray_easy_set_http_get(handle, 1), method)
            if method == "HEAD" { try require(dray_easy_set_no_body(handle, 1), method) }
        }
        try require(dray_easy_set_method(handle, method), method)
    }

    /// Sets up a request with a body of `count` bytes that the delegate provides while it is sent,
    /// perhaps more than once.
    package func setRequest(_ method: String, providing count: Int64) throws(CurlError) {
        try require(dray_easy_set_post(handle, 1), method)
        let user = Unmanaged.passUnretained(self).toOpaque()
        providedBytes = 0
        try require(
            dray_easy_set_read_body(handle, count, readCallback, seekCallback, user), method)
        try require(dray_easy_set_method(handle, method), method)
    }

    private func require(_ code: CURLcode, _ method: String) throws(CurlError) {
        guard code == CURLE_OK else { throw CurlError(CurlCode(code), method) }
    }
}

private let readCallback: dray_read_callback = { bytes, size, count, user in
    guard let user else { return dray_read_abort() }
    let easy = Unmanaged<CurlEasy>.fromOpaque(user).takeUnretainedValue()
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    guard
        let provided = easy.delegate?.curl(easy, provides: buffer, from: easy.providedBytes),
        provided > 0, provided <= buffer.count
    else { return dray_read_abort() }
    easy.providedBytes += Int64(provided)
    return provided
}

private let seekCallback: dray_seek_callback = { user, offset, _ in
    guard let user else { return CURL_SEEKFUNC_FAIL }
    Unmanaged<CurlEasy>.fromOpaque(user).takeUnretainedValue().providedBytes = Int64(offset)
    return CURL_SEEKFUNC_OK
}
