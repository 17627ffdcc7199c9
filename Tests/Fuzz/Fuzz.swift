import Foundation

/// The target that DRAY_FUZZ_TARGET names; without one the names are listed and the process ends.
private let target: @Sendable ([UInt8]) -> Void = {
    let name = ProcessInfo.processInfo.environment["DRAY_FUZZ_TARGET"] ?? ""
    if let target = FuzzTargets.all[name] { return target }
    print(FuzzTargets.all.keys.sorted().joined(separator: "\n"))
    exit(name.isEmpty ? 0 : 2)
}()

/// libFuzzer calls it before the first input.
@_cdecl("LLVMFuzzerInitialize")
public func fuzzInitialize(_ count: UnsafeMutableRawPointer?, _ words: UnsafeMutableRawPointer?)
    -> Int32
{
    _ = target
    return 0
}

/// libFuzzer calls it with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    target(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
