# The library of a release's source archive for Homebrew. Not tested: see ../README.md. Set `url` to where the archive is,
# and `sha256` to its line in SHA256SUMS, then: brew install --formula ./ashlar.rb
class Ashlar < Formula
  desc "Fixed-block memory management for C and C++"
  homepage "https://ashlar.invalid"
  url "https://ashlar.invalid/ashlar-0.1.0.tar.gz"
  sha256 "0" * 64
  license "MIT"

  depends_on "cmake" => :build

  def install
    parts = %w[TOOLS TESTS EXAMPLES BENCH].map { |part| "-DASHLAR_BUILD_#{part}=OFF" }
    system "cmake", "-S", ".", "-B", "build", *parts, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"test.c").write <<~C
      #include <ashlar/ashlar.h>
      int main(void) {
        void* block = xmalloc(100);
        xfree(block);
        return block == 0;
      }
    C
    system ENV.cc, "test.c", "-I#{include}", "-L#{lib}", "-lashlar", "-o", "test"
    system "./test"
  end
end
