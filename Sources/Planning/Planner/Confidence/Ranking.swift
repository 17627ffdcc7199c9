/// Ranks of values, and their correlation.
enum Ranking {
    /// Returns ranks from 1; equal values share their mean rank.
    static func ranks(_ values: [Double]) -> [Double] {
        let order = values.indices.sorted { values[$0] < values[$1] }
        var ranks = [Double](repeating: 0, count: values.count)
        var start = 0
        while start < order.count {
            var end = start
            while end + 1 < order.count, values[order[end + 1]] == values[order[start]] { end += 1 }
            for index in start...end { ranks[order[index]] = Double(start + end) / 2 + 1 }
            start = end + 1
        }
        return ranks
    }

    /// Returns Pearson's correlation, which for ranks is Spearman's; 0 if one of them is constant.
    static func correlation(_ left: [Double], _ right: [Double]) -> Double {
        guard left.count == right.count, left.count > 1 else { return 0 }
        let count = Double(left.count)
        let leftMean = left.reduce(0, +) / count
        let rightMean = right.reduce(0, +) / count
        var (both, ofLeft, ofRight) = (0.0, 0.0, 0.0)
        for (a, b) in zip(left, right) {
            both += (a - leftMean) * (b - rightMean)
            ofLeft += (a - leftMean) * (a - leftMean)
            ofRight += (b - rightMean) * (b - rightMean)
        }
        guard ofLeft > 0, ofRight > 0 else { return 0 }
        return both / (ofLeft * ofRight).squareRoot()
    }
}
