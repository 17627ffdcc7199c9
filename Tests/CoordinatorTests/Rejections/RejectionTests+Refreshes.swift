/// Times of refreshes, and the freshness that workers report.
extension RejectionTests {
    static let refreshTimes: [Case] = [
        catalog(#"{"name":"a","storageURL":"file:///x","priority":5,"refreshSeconds":59}"#),
        catalog(
            #"{"name":"a","storageURL":"file:///x","priority":5,"refreshSeconds":60,"#
                + #""refreshByOrigin":true}"#),
        asset(#""name":"a","kind":"file","url":"http://h/a","key":"h/a","refreshSeconds":1e9"#),
        asset(
            #""name":"a","kind":"file","url":"http://h/a","key":"h/a","refreshSeconds":60,"#
                + #""refreshByOrigin":true"#),
        report(#""job":1,"lease":"\#(lease)","freshSeconds":-1"#),
        report(#""job":1,"lease":"\#(lease)","freshSeconds":2147483649"#),
    ]
}
