/// Version of this binary, as `dray --version` prints it.
package let drayVersion = "0.1.0"
