import Statistics

/// Values of inputs to try, from the nearest to their present values to the farthest.
struct Trial {
    /// The values of an input, one for each step.
    struct Column {
        let input: ScenarioInput
        let values: [Double]
    }

    /// Inputs that change together.
    let columns: [Column]

    var count: Int { columns.map(\.values.count).min() ?? 0 }
    var inputs: [ScenarioInput] { columns.map(\.input) }

    /// Returns the values of a step.
    func changes(_ step: Int) -> [ScenarioInput: Double] {
        Dictionary(uniqueKeysWithValues: columns.map { ($0.input, $0.values[step]) })
    }

    init(_ columns: [Column]) { self.columns = columns }

    /// Creates multiples of `1 / parts` beyond `present`, to `end`.
    init(_ input: ScenarioInput, _ present: Double, to end: Double, parts: Double) {
        let (from, last) = (present * parts, end * parts)
        let steps =
            last > from
            ? Array(
                stride(from: wholeDown(from + 1e-9) + 1, through: wholeDown(last + 1e-9), by: 1))
            : Array(stride(from: wholeUp(from - 1e-9) - 1, through: wholeUp(last - 1e-9), by: -1))
        let values = steps.map { Double($0) / parts }
        columns = [Column(input: input, values: values.filter(input.row.allowed.contains))]
    }

    /// Creates numbers of three digits above `present`, up to a million times as much.
    init(_ input: ScenarioInput, above present: Double) {
        let allowed = input.row.allowed
        var (unit, parts) = (1.0, 1.0)
        while present >= 1_000 * unit { unit *= 10 }
        while present * parts < 100, parts < 1e6 { parts *= 10 }
        var values: [Double] = []
        var digits = wholeDown(present / unit * parts)
        while true {
            digits += 1
            if digits > 1_000 {
                digits = 101
                if parts > 1 { parts /= 10 } else { unit *= 10 }
            }
            let value = Double(digits) * unit / parts
            guard value <= allowed.upperBound, value <= present * 1e6 else { break }
            if value > present, !input.row.isWhole || value == value.rounded() {
                values.append(value)
            }
        }
        columns = [Column(input: input, values: values)]
    }
}
