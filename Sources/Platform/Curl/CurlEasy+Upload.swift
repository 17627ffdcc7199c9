internal import CCurl

extension CurlEasy {
    /// Sets up a request with any method.
    ///
    /// - Parameter body: Sent with its length; it must stay valid until the request has ended. Nil
    ///   for none.
    package func setRequest(
        _ method: String, borrowing body: UnsafeRawBufferPointer?
    ) throws(CurlError) {
        var codes: [CURLcode] = []
        if let body {
            codes.append(dray_easy_set_post(handle, 1))
            codes.append(
                dray_easy_set_borrowed_body(handle, body.baseAddress, Int64(body.count)))
        } else {
            codes.append(dray_easy_set_http_get(handle, 1))
            if method == "HEAD" { codes.append(dray_easy_set_no_body(handle, 1)) }
        }
        codes.append(dray_easy_set_method(handle, method))
        if let code = codes.first(where: { $0 != CURLE_OK }) {
            throw CurlError(CurlCode(code), method)
        }
    }
}
