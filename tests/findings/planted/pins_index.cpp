// Documents are read into trees, of which only an entry of an index stays. The trees go document by
// document, at the end.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct element {
  std::unique_ptr<element> child;
  std::unique_ptr<element> next;
  std::unique_ptr<char[]> text;
};
struct index_entry {
  int document;
  int place;
  char word[24];
};

static std::vector<std::unique_ptr<index_entry>> entries;

static void remember(int document, int place) {
  auto e = std::make_unique<index_entry>();  // planted: pins
  e->document = document;
  e->place = place;
  std::snprintf(e->word, sizeof e->word, "word%d", place);
  entries.push_back(std::move(e));
}

static std::unique_ptr<element> read(int document) {
  auto root = std::make_unique<element>();
  for (int i = 0; i < 500; ++i) {
    auto e = std::make_unique<element>();
    e->text = std::make_unique<char[]>(static_cast<std::size_t>(64 + (document + i) % 11 * 16));
    e->text[0] = 'x';
    e->next = std::move(root->child);
    root->child = std::move(e);
    if (i % 25 == 0) remember(document, i);
  }
  return root;
}

int main() {
  entries.reserve(3'000);
  std::vector<std::unique_ptr<element>> documents;
  documents.reserve(100);
  for (int i = 0; i < 100; ++i) documents.push_back(read(i));
  while (!documents.empty()) {
    std::unique_ptr<element> rest = std::move(documents.back()->child);
    while (rest) rest = std::move(rest->next);
    documents.pop_back();
  }
  long sum = 0;
  for (int round = 0; round < 2'000; ++round)
    for (const auto& e : entries) sum += e->place;
  std::printf("%ld\n", sum);
  return 0;
}
