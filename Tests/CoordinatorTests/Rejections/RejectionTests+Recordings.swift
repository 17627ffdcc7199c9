/// Recordings of live titles.
extension RejectionTests {
    private static func titles(
        _ fields: String, at storageURL: String = "file:///x", status: Int = 400,
        code: String = "input.field"
    ) -> Case {
        Case(
            target: "/v1/catalogs",
            body: #"{"name":"a","storageURL":"\#(storageURL)","priority":5,"#
                + #""titles":{"tracks":{},\#(fields)}}"#,
            status: status, code: code)
    }

    static let recordings: [Case] = [
        titles(#""records":true,"takesSnapshots":true"#),
        titles(#""records":true,"recordsUntilSeconds":-1"#),
        titles(
            #""records":true"#, at: "cache:https://edge.example?pop=192.0.2.1", status: 409,
            code: "input.cacheSite"),
    ]
}
