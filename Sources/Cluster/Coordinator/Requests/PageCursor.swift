import FoundationEssentials
import HTTPServer
import Model

/// The opaque text that stands for a position in a list: `next` of a page, `after` of the next
/// request.
///
/// It hides how lists are read, which may change, and is of one list only. It is no secret and
/// carries no rights.
enum PageCursor {
    /// Longest text in bytes: for the longest name of an asset.
    static let maximumBytes = 4_096

    /// Returns the text for a position; nil for nil.
    static func sealed(_ position: String?, of list: String) -> String? {
        guard let position else { return nil }
        return Data((list + "\n" + position).utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Reads the position that a request continues after; nil without one. Throws `input.field`.
    static func position(
        in request: HTTPRequest, of list: String
    ) throws(Failure) -> String? {
        guard let text = request.queryValue("after") else { return nil }
        guard text.utf8.count <= maximumBytes, let position = opened(text, of: list) else {
            throw Validation.wrong("after", text, "the next of a page of this list")
        }
        return position
    }

    /// Reads the number, from 1, that a request continues after; nil without one. Throws `input.field`.
    static func number(in request: HTTPRequest, of list: String) throws(Failure) -> Int64? {
        guard let position = try position(in: request, of: list) else { return nil }
        guard let number = Int64(position), number > 0 else {
            throw Validation.wrong("after", position, "the next of a page of this list")
        }
        return number
    }

    private static func opened(_ text: String, of list: String) -> String? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let standard = text.replacing("-", with: "+").replacing("_", with: "/") + padding
        guard let data = Data(base64Encoded: standard),
            let plain = String(validating: data, as: UTF8.self), !plain.utf8.contains(0)
        else { return nil }
        let prefix = list + "\n"
        // As bytes: a combining mark may follow the line break.
        guard plain.utf8.starts(with: prefix.utf8) else { return nil }
        return String(Substring(plain.utf8.dropFirst(prefix.utf8.count)))
    }
}
