import Model

extension RejectionTests {
    /// Kinds of renditions that titles may lack, and those that workers report.
    static let renditions: [Case] =
        [
            #""mayLack":[]"#, #""mayLack":["audio","audio"]"#,
            #""mayLack":["audio"],"records":true"#,
        ].map {
            catalog(
                #"{"name":"a","storageURL":"file:///x","priority":5,"titles":{"tracks":{},\#($0)}}"#
            )
        }
        + [
            #"{"key":"h/a","code":"origin.http.404","message":""}"#,
            #"{"kind":"audio","key":"","code":"origin.http.404","message":""}"#,
            #"{"kind":"audio","name":"a\u0000","key":"h/a","code":"origin.http.404","message":""}"#,
            #"{"kind":"audio","attributes":"\u0000","key":"h/a","code":"origin.http.404","message":""}"#,
        ].map {
            Case(
                target: "/v1/segments",
                body: #"{"worker":"\#(worker)","job":1,"lease":"\#(lease)","leftOut":[\#($0)],"#
                    + #""segments":[{"ordinal":0,"url":"http://h/0","key":"h/0","role":"media"}]}"#)
        }
}
