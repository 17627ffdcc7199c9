internal import XML

/// An XML document of an answer: elements by name, without attributes.
struct AnswerDocument {
    let root: AnswerElement

    /// Returns nil for anything but a well-formed document, such as HTML.
    init?(_ bytes: [UInt8]) {
        let builder = Builder()
        do throws(XMLError) {
            try XMLReader.read(bytes, into: builder)
        } catch {
            return nil
        }
        guard let root = builder.root else { return nil }
        self.root = root
    }
}

/// One element of an answer.
final class AnswerElement {
    let name: String
    fileprivate(set) var children: [AnswerElement] = []
    fileprivate(set) var text = ""

    fileprivate init(name: String) { self.name = name }

    /// Returns the text of the first child of that name.
    subscript(name: String) -> String? { children.first { $0.name == name }?.text }

    func all(_ name: String) -> [AnswerElement] { children.filter { $0.name == name } }
}

private final class Builder: XMLHandler {
    private(set) var root: AnswerElement?
    private var open: [AnswerElement] = []

    func start(_ element: borrowing XMLElement) -> Bool {
        let made = AnswerElement(name: element.name.string)
        if let parent = open.last {
            parent.children.append(made)
        } else {
            root = made
        }
        open.append(made)
        return true
    }

    func text(_ text: XMLText) -> Bool {
        open.last?.text += text.string
        return true
    }

    func end() -> Bool {
        open.removeLast()
        return true
    }
}
