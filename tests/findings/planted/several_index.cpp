// Builds an index of words: a key for each look-up, postings that grow, a document that is freed at once.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct token {
  token* next = nullptr;
  int word = 0;
};

static token* tokens_of(int document) {
  token* list = nullptr;
  for (int i = 0; i < 200; ++i) {
    auto* const t = new token;  // planted: together
    t->next = list;
    t->word = (document * 37 + i * i) % 400;
    list = t;
  }
  return list;
}

int main() {
  std::unordered_map<std::string, std::vector<int>> index;
  index.reserve(1000);
  for (int word = 0; word < 400; ++word)
    index.emplace("the postings of word " + std::to_string(word), std::vector<int>());
  for (int document = 0; document < 150; ++document) {
    token* const all = tokens_of(document);
    for (const token* t = all; t != nullptr; t = t->next) {
      const std::string key =
          "the postings of word " + std::to_string(t->word);  // planted: temporary
      index.find(key)->second.push_back(document);            // planted: growth
    }
    for (token* t = all; t != nullptr;) {
      token* const next = t->next;
      delete t;
      t = next;
    }
  }
  std::printf("%zu\n", index.size());
  return 0;
}
