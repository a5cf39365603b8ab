// A mailbox is opened: of each mail the text is looked through and dropped, and its header stays.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

struct header {
  int number;
  bool is_new;
  char subject[40];
};

int main() {
  std::vector<header*> box;
  box.reserve(1'500);
  std::vector<std::string> texts;
  texts.reserve(45'000);
  for (int mail = 0; mail < 1'500; ++mail) {
    header* const h = new header{mail, true, {}};  // planted: pins
    std::snprintf(h->subject, sizeof h->subject, "subject %d", mail);
    box.push_back(h);
    for (int part = 0; part < 30; ++part)
      texts.push_back(std::string(static_cast<std::size_t>(100 + (mail * part) % 170), 't'));
  }
  std::size_t found = 0;
  for (std::string& text : texts) {
    found += text.find('u') != std::string::npos;
    text = std::string();
  }
  for (int round = 0; round < 2'000; ++round)
    for (const header* h : box) found += std::strlen(h->subject);
  std::printf("%zu\n", found);
  return 0;
}
