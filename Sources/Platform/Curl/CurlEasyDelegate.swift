/// Callbacks for a transfer's owner, on the loop of the `CurlMulti` that runs it.
///
/// All but `finished` are called inside libcurl: they must not add or remove handles.
package protocol CurlEasyDelegate: AnyObject {
    /// Receives a block of the body, which is valid during the call only.
    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow
    /// Fills `buffer` with bytes of the request's body from `offset` on; returns their number, at
    /// least 1, or nil to end the transfer with `.abortedByCallback`. Only for
    /// `setRequest(_:providing:)`.
    func curl(
        _ easy: CurlEasy, provides buffer: UnsafeMutableRawBufferPointer, from offset: Int64
    ) -> Int?
    /// Returns whether a new connection to `address` may be opened.
    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool
    /// Reports a new socket for an admitted address; it is not connected yet.
    func curl(_ easy: CurlEasy, opened socket: Int32)
    /// Returns whether the request may be sent on its connection. Called again when libcurl repeats
    /// a request after a dead connection.
    func curlMaySend(_ easy: CurlEasy) -> Bool
    /// Reports the first bytes of a response.
    func curlBeginsAnswer(_ easy: CurlEasy)
    /// Reports that the transfer ended and left its multi handle; `easy` can be used again.
    func curl(_ easy: CurlEasy, finished code: CurlCode)
}

extension CurlEasyDelegate {
    package func curl(
        _ easy: CurlEasy, provides buffer: UnsafeMutableRawBufferPointer, from offset: Int64
    ) -> Int? { nil }
    package func curl(_ easy: CurlEasy, opened socket: Int32) {}
    package func curlMaySend(_ easy: CurlEasy) -> Bool { true }
    package func curlBeginsAnswer(_ easy: CurlEasy) {}
}
