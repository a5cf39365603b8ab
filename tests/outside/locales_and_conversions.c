// Locales, conversions and time zones are loaded and dropped over and over, by threads of their own
// too; the environment grows, shrinks and is cleared.
#include "outside.h"

static void* body(void* p) {
  for (int i = 0; i < 30; ++i) {
    locale_t own = newlocale(LC_ALL_MASK, i % 2 ? "C.UTF-8" : "C", (locale_t)0);
    locale_t twin = duplocale(own);
    uselocale(own);
    wchar_t wide[64];
    swprintf(wide, 64, L"%s %d", "narrow", i);
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(own);
    freelocale(twin);
    iconv_t convert = iconv_open("UTF-16LE", i % 2 ? "ISO-8859-1" : "UTF-8");
    if (convert != (iconv_t)-1) {
      char in[] = "text to convert", out[64], *from = in, *to = out;
      size_t left = 15, room = 64;
      CHECK(iconv(convert, &from, &left, &to, &room) == 0 && room == 34);
      iconv_close(convert);
    }
  }
  return p;
}

int main(void) {
  static const char* const zones[] = {"UTC", "EST5EDT", "<+03>-3", ":/etc/localtime",
                                      "CET-1CEST,M3.5.0,M10.5.0/3"};
  for (int i = 0; i < 200; ++i) {
    setlocale(LC_ALL, i % 2 ? "C.UTF-8" : "C");
    setenv("TZ", zones[i % 5], 1);
    tzset();
    time_t t = 86400;
    char text[64];
    strftime(text, sizeof text, "%c %Z", localtime(&t));
    if (i % 20 == 3) puts(asctime(gmtime(&t)));
  }
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, body, NULL) == 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);

  for (int round = 0; round < 5; ++round) {
    char* own[50];
    for (int i = 0; i < 400; ++i) {
      char name[32];
      snprintf(name, sizeof name, "NAME_%d", i);
      setenv(name, "a value that is long enough to be moved", 1);
      if (i < 50) {
        own[i] = (char*)malloc(64);
        snprintf(own[i], 64, "OWN_%d=%d", i, round);
        putenv(own[i]);
      }
    }
    CHECK(atoi(getenv("OWN_49")) == round);
    if (round % 2) clearenv();
    for (int i = 0; i < 50; ++i) {
      char name[32];
      snprintf(name, sizeof name, "OWN_%d", i);
      unsetenv(name);
      free(own[i]);
    }
  }
  puts("ok");
}
