import WebURL

/// The URLs against which references of a playlist resolve.
struct PlaylistBases {
    /// The playlist's final URL.
    let url: ReferenceBase
    /// Base of keys, if it is another one.
    let naming: ReferenceBase?

    init(_ url: WebURL, named: WebURL?) {
        self.url = ReferenceBase(url)
        naming = named.flatMap { $0 == url ? nil : ReferenceBase($0) }
    }

    /// Resolves a reference; `named` is nil if keys are made from `url`.
    func resolve(
        _ bytes: [UInt8], _ range: Range<Int>
    ) throws(WebURLError) -> (url: WebURL, named: WebURL?) {
        let url = try url.resolve(bytes, range)
        let named = try naming?.resolve(bytes, range)
        return (url, named == url ? nil : named)
    }
}
