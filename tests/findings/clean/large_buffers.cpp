// Large blocks that are used: an image, a file that is read whole, a vector that doubles, a ring of buffers, and a
// temporary copy that is given back at once.
#include <cstdio>
#include <cstring>
#include <deque>
#include <numeric>
#include <vector>

static long blurred(const std::vector<unsigned char>& image, std::size_t width) {
  std::vector<unsigned char> copy(image.size());
  for (std::size_t i = width; i + width < image.size(); ++i)
    copy[i] = static_cast<unsigned char>((image[i - width] + image[i] + image[i + width]) / 3);
  return std::accumulate(copy.begin(), copy.end(), 0L);
}

int main() {
  std::vector<unsigned char> image(6u << 20, 7);
  long sum = blurred(image, 2048);
  // As a reader of files does that knows the size: a little more than it gets.
  std::vector<char> file;
  file.reserve((3u << 20) + 4096);
  file.resize(3u << 20, 'x');
  std::deque<std::vector<double>> ring;
  for (int i = 0; i < 200; ++i) {
    ring.emplace_back(10'000, 0.5 * i);
    if (ring.size() > 8) ring.pop_front();
    sum += static_cast<long>(ring.back()[17]);
  }
  // A little more than a half of what it could hold.
  std::vector<int> found;
  found.reserve(1u << 20);
  for (int i = 0; i < 700'000; ++i) found.push_back(i);
  sum += found[found.size() / 2] + file[5];
  std::printf("%ld\n", sum);
  return 0;
}
