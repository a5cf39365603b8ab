// A table of sessions that come and go.
#include <cstdio>
#include <map>
#include <random>

struct session {
  long since = 0;
  int requests = 0;
};

int main() {
  std::mt19937 random(1);
  std::map<unsigned, session> sessions;
  for (int i = 0; i < 60'000; ++i) {
    const unsigned id = static_cast<unsigned>(random() % 4000);
    if (random() % 2 == 0) {
      ++sessions[id].requests;  // planted: nodes
    } else {
      sessions.erase(id);
    }
  }
  std::printf("%s\n", sessions.empty() ? "none" : "some");
  return 0;
}
