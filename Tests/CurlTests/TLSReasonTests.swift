import Curl
import Testing

@Suite struct TLSReasonTests {
    @Test func theReasonIsThatOfTheCodeWhateverItsWords() {
        #expect(TLSReason(detail: "error:0A00010B:SSL routines::wrong version number") == .notTLS)
        #expect(TLSReason(detail: "OpenSSL/3.5.1: error:0A00010B:lib(20)::reason(267)") == .notTLS)
        #expect(
            TLSReason(
                detail: "OpenSSL SSL_read: error:0A00045C:SSL routines::"
                    + "tlsv13 alert certificate required, errno 0") == .alert(116))
        #expect(
            TLSReason(detail: "SSL_write() error: error:0A000418:SSL routines::reason(1048)")
                == .alert(48))
        #expect(
            TLSReason(detail: "error:0A0000C1:SSL routines::no shared cipher") == .other(193))
    }

    @Test func otherTextsHaveNoReason() {
        for detail in [
            "", "error:", "error:0A00010B", "error:0A00010G:", "wrong version number",
            "Connection refused", "error:80000068:system library::Connection reset by peer",
        ] {
            #expect(TLSReason(detail: detail) == nil, "\(detail)")
        }
    }
}
