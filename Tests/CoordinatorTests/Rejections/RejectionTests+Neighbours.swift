extension RejectionTests {
    private static func named(
        _ neighbours: String, status: Int = 400, code: String = "input.field"
    ) -> Case {
        Case(
            target: "/v1/catalogs",
            body: #"{"name":"a","storageURL":"file:///x","priority":5,"#
                + #""neighbours":[\#(neighbours)]}"#,
            status: status, code: code)
    }

    /// Sites that another one is to be filled from.
    static let neighbours: [Case] = [
        named(#""x""#), named("1", code: "input.malformed"), named(#""s3://""#),
        named((0..<64).map { #""file:///\#($0)""# }.joined(separator: ",")),
        named(#""file:///x/""#, code: "input.duplicate"),
        named(#""file:///y","file:///y""#, code: "input.duplicate"),
        named(#""file:///y""#, status: 404, code: "input.notFound"),
    ]
}
