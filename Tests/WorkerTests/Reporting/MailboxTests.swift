import Testing

@testable import Worker

@Suite struct MailboxTests {
    @Test func batchesKeepOrderAndSize() async {
        let box = Mailbox<Int>()
        box.push(contentsOf: Array(1...5))
        box.push(6)
        #expect(await box.next(4) == [1, 2, 3, 4])
        #expect(await box.next(4) == [5, 6])
        box.push(7)
        box.close()
        #expect(await box.next(4) == [7])
        #expect(await box.next(4) == [])
        #expect(await box.next(4) == [])
    }

    @Test func whoWaitsIsWokenByAnElementAndByTheEnd() async {
        let box = Mailbox<Int>()
        async let first = box.next(10)
        box.push(1)
        #expect(await first == [1])
        async let last = box.next(10)
        box.close()
        #expect(await last == [])
    }

    @Test func nothingIsLostOrDoubledUnderContention() async {
        let box = Mailbox<Int>()
        let reader = Task {
            var all: [Int] = []
            while true {
                let batch = await box.next(7)
                if batch.isEmpty { return all }
                all += batch
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for value in 0..<500 { box.push(writer * 500 + value) }
                }
            }
        }
        box.close()
        #expect(await reader.value.sorted() == Array(0..<4_000))
    }
}
