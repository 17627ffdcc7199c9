import Planner
import Rendering
import Testing

@Suite struct ThroughputTableTests {
    @Test(arguments: [
        "N,X\n1,10\n2,18.5\n", "1,10\n2,18.5", "n;x\r\n1;10\r\n2;18.5\r\n",
        "# measured on Monday\n\n1 10\n 2   18.5\n", "workers\tMB/s\n1\t10\n2\t18.5\n",
        "\u{FEFF}\"N\",\"X\"\n\"1\",\"10\"\n2,18.5\n", "run,X,N\na,10,1\nb,18.5,2\n",
        "1,10,the first\n2,1.85e1,the second\n",
    ])
    func formsOfOneTable(text: String) throws {
        let points = try ThroughputTable(csv: text).points
        #expect(points.map(\.n) == [1, 2])
        #expect(points.map(\.x) == [10, 18.5])
    }

    @Test(arguments: [
        ("", "the table is empty"), ("\n# nothing\n", "the table is empty"),
        ("N,X\n", "the table is empty"), ("N,X\n1,ten\n", "line 2, column X is 'ten'"),
        ("1,2\n2\n", "line 2, column X is missing"), ("1,2\nnan,3\n", "line 2, column N is 'nan'"),
        ("1,2\n2,0\n", "line 2, column X is '0'"), ("1,2\n0,1\n", "line 2, column N is '0'"),
        ("1,2\n2,inf\n", "line 2, column X is 'inf'"), ("1,2\n-3,1\n", "line 2, column N is '-3'"),
        ("a,b,c\n1,2,3\n", "name one column N and one column X"), ("7\n", "line 1 is '7'"),
    ])
    func whatIsWrongIsNamed(text: String, says: String) throws {
        let error = try #require(throws: PlannerError.self) { try ThroughputTable(csv: text) }
        #expect("\(error)".contains(says), "\(error)")
    }

    @Test func aChartHasACharacterForEachPoint() {
        let points: [(x: Double, y: Double)] = [(1, 10), (4, 40), (8, 80)]
        let chart = TextPlot().draw(points: points, curve: { $0 * 10 }, number: { "\(Int($0))" })
        #expect(chart.filter { $0 == "●" }.count == 3)
        #expect(chart.contains("·") && chart.contains("80 ┤"))
        #expect(chart.split(separator: "\n").allSatisfy { $0.count <= 70 })
    }
}
