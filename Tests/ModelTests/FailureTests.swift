import Foundation
import Model
import Testing

@Suite struct FailureTests {
    @Test(arguments: [
        (FailureLocation.line(3), "line 3: wrong", 3 as Int?),
        (.line(3, column: 7), "line 3, column 7: wrong", 3),
        (.line(3, field: "bytes"), "line 3: field bytes: wrong", 3),
        (
            .line(3, column: 7, field: "bytes", document: "a.xml"),
            "a.xml: line 3, column 7: field bytes: wrong", nil
        ),
        (.manifest("http://h/m", line: 3), "http://h/m line 3: wrong", nil),
        (.manifest("http://h/m"), "http://h/m: wrong", nil),
        (.field("think"), "field think: wrong", nil),
    ])
    func theMessageBeginsWithThePlace(place: FailureLocation, message: String, line: Int?) {
        let failure = Failure(.inputField, at: place, "wrong")
        #expect(failure.message == message && failure.location?.lineOfList == line)
        #expect(
            Failure(.inputField, at: place, "wrong", allowed: "1 to 2").message
                == message + ", allowed 1 to 2")
    }

    @Test func anotherPlaceKeepsTheMessage() {
        let inner = Failure(.inputURL, at: .field("url"), "is missing", allowed: "a URL")
        let outer = inner.at(.line(2))
        #expect(outer.message == "line 2: field url: is missing, allowed a URL")
        #expect(outer.location == .line(2))
        let plain = Failure(.inputURL, "is missing").at(.line(2, field: "url"))
        #expect(plain.message == "line 2: field url: is missing")
        #expect(plain.inDocument("a.txt").message == "a.txt: line 2: field url: is missing")
        #expect(Failure(.inputUnreadable, "gone").inDocument("a.txt").message == "a.txt: gone")
    }

    /// Clients and coordinators exchange code and message; both are bounded.
    @Test func inJSONItIsItsCodeAndItsMessage() throws {
        let failure = Failure(
            .inputField, at: .line(2), String(repeating: "x", count: 600), allowed: "less")
        #expect(failure.message.unicodeScalars.count == 500)
        let bytes = try JSONEncoder().encode(failure)
        let object = try JSONDecoder().decode([String: String].self, from: bytes)
        #expect(object == ["code": "input.field", "message": failure.message])
        let back = try JSONDecoder().decode(Failure.self, from: bytes)
        #expect(back == failure && back.hashValue == failure.hashValue && back.location == nil)
    }

    /// As PostgreSQL writes them.
    @Test(arguments: [
        (
            #"{"keyTaken" : {"key" : "h/m", "holder" : "http://h/m?…", "catalog" : "one", "isOther" : false}}"#,
            "h/m: http://h/m?… of catalog one is stored there"
        ),
        (
            #"{"keyTaken" : {"key" : "h/\"m", "holder" : "http://h/m", "catalog" : "one", "isOther" : true}}"#,
            "h/\"m: http://h/m of catalog one is stored there; submit under the name one to replace it"
        ),
        (
            #"{"maxSites" : {"sites" : 2, "allowed" : 2}}"#,
            "maxSites: the title is at 2 other sites; allowed: 2 in all."
        ),
        (
            #"{"maxFetches" : {"fetches" : 3, "seconds" : 0.5, "allowed" : 2}}"#,
            "maxFetches: the title was fetched 3 times within 0.5 s; allowed: 2."
        ),
        (
            #"{"maxFetches" : {"fetches" : 1, "seconds" : 2592000, "allowed" : 1}}"#,
            "maxFetches: the title was fetched 1 time within 30 days; allowed: 1."
        ),
        (
            #"{"maxFetches" : {"fetches" : 1, "seconds" : 129600, "allowed" : 1}}"#,
            "maxFetches: the title was fetched 1 time within 36 hours; allowed: 1."
        ),
        (#"{"freed" : {"files" : 1, "bytes" : 10}}"#, "1 file, 10 bytes"),
        (#"{"freed" : {"files" : 0, "bytes" : 1}}"#, "0 files, 1 byte"),
        (
            #"{"unrecorded" : {"name" : "representation \"a\""}}"#,
            "It has joined the title, and is not recorded: representation \"a\"."
        ),
        (
            #"{"audited" : {"audit" : 3, "state" : "completed", "findings" : 5, "damaged" : 1}}"#,
            "audit 3 completed: 5 findings, 1 missing or damaged file"
        ),
        (
            #"{"undelivered" : {"days" : 7, "last" : "busy"}}"#,
            "Not delivered within 7 days. The last attempt: busy"
        ),
        (#"{"undelivered" : {"days" : 7, "last" : null}}"#, "Not delivered within 7 days."),
    ])
    func recordedFactsAreSaidInASentence(json: String, sentence: String) throws {
        let message = try JSONDecoder().decode(RecordedMessage.self, from: Data(json.utf8))
        #expect(message.sentence == sentence)
        let encoded = try JSONEncoder().encode(message)
        #expect(try JSONDecoder().decode(RecordedMessage.self, from: encoded) == message)
    }
}
