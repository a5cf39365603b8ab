// tools/tune/file_digest.cpp. Layer: tune.
#include "tools/tune/file_digest.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace ashlar::tune {

namespace {

class sha256 {
 public:
  sha256() : state_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    require(state_ != nullptr && EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(const char* bytes, std::size_t count) {
    require(EVP_DigestUpdate(state_.get(), bytes, count) == 1);
  }
  [[nodiscard]] std::string digits() {
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    require(EVP_DigestFinal_ex(state_.get(), sum, &size) == 1);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", sum[i]);
    return text;
  }

 private:
  static void require(bool worked) {
    if (!worked) throw std::runtime_error("libcrypto has no SHA-256");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state_;
};

}  // namespace

std::string sha256_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  sha256 sum;
  std::vector<char> buffer(std::size_t{1} << 20);
  do {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    sum.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
  } while (file);
  if (file.bad()) throw std::runtime_error(fmt::format("cannot read '{}' to its end", path));
  return sum.digits();
}

std::string sha256_of(std::string_view bytes) {
  sha256 sum;
  sum.add(bytes.data(), bytes.size());
  return sum.digits();
}

}  // namespace ashlar::tune
