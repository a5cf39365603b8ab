#!/usr/bin/env python3
"""The recorder's way to find calls beside the compiler's runtime: the same frames, at each malloc of hard and of real programs.

Run: frame_walk_test.py WALK_CHECK STACKS COMPILER SOURCE PLUGIN SAME_PLUGIN OTHER_PLUGIN
"""
import os
import re
import subprocess
import sys
import unittest

WALK_CHECK, STACKS, COMPILER, SOURCE, *PLUGINS = sys.argv[1:8]


class FrameWalk(unittest.TestCase):
    def compare(self, *words, **environment):
        """Returns: what it said, and how many walks went by the rules and by the runtime."""
        done = subprocess.run(words, env={**os.environ, **environment, "LD_PRELOAD": WALK_CHECK}, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        counts = re.findall(r"walk check: (\d+) by rules, (\d+) by the runtime, (\d+) different", done.stdout)
        by_rules, by_runtime, different = (sum(map(int, column)) for column in zip((0, 0, 0), *counts))
        self.assertEqual((done.returncode, different), (0, 0), done.stdout)
        return done.stdout, by_rules, by_runtime

    def test_finds_what_the_runtime_finds_in_hard_places(self):
        said, by_rules, by_runtime = self.compare(STACKS, "all", *PLUGINS)
        self.assertGreater(by_rules, 5000)
        self.assertGreater(by_runtime, 0)  # behind a signal
        self.assertIn("same place: 10\n", said)  # else there was no stale rule to be misled by

    def test_finds_what_the_runtime_finds_in_programs(self):
        for least, words, environment in (
                (20_000, ("/usr/bin/python3", "-S", "-c", "import json; json.loads(json.dumps([{str(i): [i, str(i)]} for i in range(300)]))"),
                 {"PYTHONMALLOC": "malloc"}),
                (2000, (COMPILER, "-O1", "-S", "-o", "/dev/null", "-x", "c", SOURCE), {}),
                (500, ("perl", "-e", 'my %h; $h{$_ % 97} .= "x$_" for 1..3000;'), {})):
            _, by_rules, by_runtime = self.compare(*words, **environment)
            self.assertGreater(by_rules, least, words)
            self.assertLess(by_runtime, by_rules // 20, words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
