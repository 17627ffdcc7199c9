/// Returns the smallest number of `first...atMost` that `suffices`, which must be monotonic: false
/// up to some number, then true. Nil if there is none.
package func minSufficient(from first: Int, atMost: Int, suffices: (Int) -> Bool) -> Int? {
    precondition(atMost <= Int.max / 4)
    guard first <= atMost else { return nil }
    if suffices(first) { return first }
    var (tooFew, step) = (first, 1)
    while true {
        let next = step >= atMost - tooFew ? atMost : tooFew + step
        guard next > tooFew else { return nil }
        if suffices(next) {
            var (low, high) = (tooFew, next)
            while high - low > 1 {
                let middle = low + (high - low) / 2
                if suffices(middle) { high = middle } else { low = middle }
            }
            return high
        }
        (tooFew, step) = (next, step * 2)
    }
}
