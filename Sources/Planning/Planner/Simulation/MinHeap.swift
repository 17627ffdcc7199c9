/// A binary heap with the smallest element at the front.
package struct MinHeap<Element: Comparable> {
    private var elements: [Element] = []

    package init() {}

    /// Creates a heap of `count` equal elements.
    package init(repeating element: Element, count: Int) {
        elements = [Element](repeating: element, count: count)
    }

    package var first: Element? { elements.first }
    package var count: Int { elements.count }
    package var all: [Element] { elements }

    package mutating func insert(_ element: Element) {
        elements.append(element)
        var index = elements.count - 1
        elements.withUnsafeMutableBufferPointer { buffer in
            while index > 0 {
                let parent = (index - 1) / 2
                guard element < buffer[parent] else { break }
                buffer[index] = buffer[parent]
                index = parent
            }
            buffer[index] = element
        }
    }

    package mutating func removeFirst() -> Element? {
        guard let last = elements.popLast() else { return nil }
        guard let first = elements.first else { return last }
        replaceFirst(with: last)
        return first
    }

    /// Replaces the smallest element by `element`.
    package mutating func replaceFirst(with element: Element) {
        elements.withUnsafeMutableBufferPointer { buffer in
            let count = buffer.count
            var index = 0
            while true {
                var child = 2 * index + 1
                guard child < count else { break }
                if child + 1 < count, buffer[child + 1] < buffer[child] { child += 1 }
                guard buffer[child] < element else { break }
                buffer[index] = buffer[child]
                index = child
            }
            buffer[index] = element
        }
    }
}
