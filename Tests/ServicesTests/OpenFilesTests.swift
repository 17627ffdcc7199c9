import Glibc
import Services
import Testing

@Suite struct OpenFilesTests {
    @Test func theSoftLimitBecomesTheHardOne() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        #expect(getrlimit(resource, &limit) == 0)
        let hard = limit.rlim_max
        #expect(OpenFiles.raiseLimit() >= min(UInt64(hard), 65_536))
        #expect(getrlimit(resource, &limit) == 0)
        #expect(limit.rlim_cur >= min(hard, 65_536) && limit.rlim_max == hard)
    }
}
