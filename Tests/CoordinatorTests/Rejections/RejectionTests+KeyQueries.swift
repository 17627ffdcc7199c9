import Model

extension RejectionTests {
    private static func withRules(_ rules: String) -> Case {
        catalog(
            #"{"name":"a","storageURL":"file:///x","priority":5,"#
                + #""titles":{"tracks":{},"keyQueries":[\#(rules)]}}"#)
    }

    private static func names(_ count: Int, of length: Int) -> String {
        (0..<count).map { number in
            let name = String(repeating: "n", count: length - 2) + "\(number + 10)"
            return "\"\(name)\""
        }.joined(separator: ",")
    }

    /// Rules of which query parameters belong to keys.
    static let keyQueries: [Case] =
        [
            "", #"{"origin":"h"}"#, #"{"origin":"http://h/a"}"#, #"{"origin":"http://H"}"#,
            #"{"origin":"http://user@h"}"#, "{},{}",
            #"{"origin":"http://h"},{"origin":"http://h"}"#,
            #"{"keep":[""]}"#, #"{"keep":["a&b"]}"#, #"{"leaveOut":["a b"]}"#,
            #"{"leaveOut":["A"]}"#, #"{"leaveOut":["a\u0000"]}"#, #"{"leaveOut":["ä"]}"#,
            #"{"keep":["a"],"leaveOut":["b","a"]}"#, #"{"keep":[\#(names(21, of: 5))]}"#,
            #"{"leaveOut":[\#(names(1, of: 33))]}"#,
            (0...KeyQueryRule.maximumRules).map { #"{"origin":"http://h\#($0)"}"# }
                .joined(separator: ","),
            (0..<4).map { #"{"origin":"http://h\#($0)","keep":[\#(names(20, of: 32))]}"# }
                .joined(separator: ","),
        ].map(withRules)
}
