"""Drives a redis-server over its Unix socket: known data, redis-benchmark's load, then the data read back.

The clients run in the work folder and name the socket relative to it, for a socket's path may be no longer
than about a hundred characters.
"""

import csv
import subprocess
import time

SOCKET = "redis.sock"
ROUNDS = {True: 4_000, False: 40_000}  # of data_commands, in quick mode and in full
REQUESTS = {True: 15_000, False: 80_000}  # of each test of redis-benchmark
TESTS = "set,get,lpush,lpop,sadd,hset,zadd,mset"
START_WAIT, WAIT = 20, 60  # seconds for the server to answer first, and for each client to finish


def server_command(server, work):
    """In memory only: no file is written, no port is open, and the clients may ask for the data's digest."""
    return [server, "--port", "0", "--unixsocket", SOCKET, "--save", "", "--appendonly", "no", "--daemonize", "no",
            "--loglevel", "warning", "--dir", str(work)]


def data_commands(rounds):
    """Strings written, overwritten, grown and deleted; a hash, a sorted set and lists of small entries."""
    for n in range(rounds):
        yield f"SET text:{n * 7 % 5003} {n}.{'v' * (n * 37 % 900)}"
        yield f"APPEND grown:{n % 600} {'g' * (n % 120 + 1)}"
        yield f"HSET fields:{n % 50} field{n} value{n}"
        yield f"ZADD sorted {n * 7919 % 10007} member{n % 3001}"
        yield f"RPUSH list:{n % 20} element{n}"
        if n % 3 == 0:
            yield f"DEL text:{n // 2 % 5003}"


def questions_and_answers(rounds):
    """What to ask once the data is in, and what a right server says; computed here, not by a server."""
    strings, fields, scores, lists = {}, {}, set(), {}
    for n in range(rounds):
        strings[f"text:{n * 7 % 5003}"] = f"{n}.{'v' * (n * 37 % 900)}"
        grown = f"grown:{n % 600}"
        strings[grown] = strings.get(grown, "") + "g" * (n % 120 + 1)
        fields.setdefault(f"fields:{n % 50}", {})[f"field{n}"] = f"value{n}"
        scores.add(f"member{n % 3001}")
        lists.setdefault(f"list:{n % 20}", []).append(f"element{n}")
        if n % 3 == 0:
            strings.pop(f"text:{n // 2 % 5003}", None)
    for name, text in strings.items():
        yield f"GET {name}", text
    for name, entries in fields.items():
        yield f"HLEN {name}", str(len(entries))
        yield f"HGET {name} {max(entries)}", entries[max(entries)]
    for name, elements in lists.items():
        yield f"LLEN {name}", str(len(elements))
        yield f"LINDEX {name} {len(elements) // 2}", elements[len(elements) // 2]
    yield "ZCARD sorted", str(len(scores))


def client(tool, work, *arguments, lines=None):
    """The client's standard output. Raises RuntimeError with its message when it fails."""
    command = [tool, "-s", SOCKET, *arguments]
    given = None if lines is None else "".join(line + "\n" for line in lines).encode()
    try:
        done = subprocess.run(command, cwd=work, input=given, capture_output=True, timeout=WAIT, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(command[:5])} did not finish within {WAIT} s") from None
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:5])} ended with {done.returncode}: "
                           + (done.stderr or done.stdout).decode(errors="replace").strip()[-300:])
    return done.stdout


def wait_until_ready(redis_cli, work):
    deadline = time.monotonic() + START_WAIT
    while True:
        try:
            if client(redis_cli, work, "PING") == b"PONG\n":
                return
            raise RuntimeError("it does not answer PING by PONG")
        except RuntimeError as problem:
            if time.monotonic() > deadline:
                raise RuntimeError(f"redis-server is not ready after {START_WAIT} s: {problem}") from None
        time.sleep(0.02)


def drive(redis_cli, redis_benchmark, work, quick):
    """Seconds under load, requests per second of each test of redis-benchmark, and whether all data was right.

    redis-benchmark draws its keys by the time of day: which are drawn differs, how many and how large does not.
    """
    wait_until_ready(redis_cli, work)
    data = list(data_commands(ROUNDS[quick]))
    questions, answers = zip(*questions_and_answers(ROUNDS[quick]))
    started = time.monotonic()
    piped = client(redis_cli, work, "--pipe", lines=data)
    table = client(redis_benchmark, work, "--csv", "-n", str(REQUESTS[quick]), "-c", "20", "-P", "16", "-d", "200",
                   "-r", "20000", "-t", TESTS)
    seconds = time.monotonic() - started
    rows = csv.DictReader(table.decode().splitlines())
    per_second = {row["test"].split(" ")[0].lower(): float(row["rps"]) for row in rows}
    if sorted(per_second) != sorted(TESTS.split(",")):
        raise RuntimeError(f"redis-benchmark reported {', '.join(per_second) or 'nothing'}, not {TESTS}")
    if f"errors: 0, replies: {len(data)}" not in piped.decode():
        raise RuntimeError(f"redis-server refused data: {piped.decode().strip().splitlines()[-1:]}")
    said = client(redis_cli, work, lines=questions).decode().splitlines()
    wrong = [question for question, right, one in zip(questions, answers, said) if right != one]
    if len(said) != len(answers):
        return seconds, per_second, f"{len(said)} answers to {len(answers)} questions"
    return seconds, per_second, f"wrong answers to {', '.join(wrong[:3])}" if wrong else "all data as written"


def stop(redis_cli, work):
    """Asks the server to end; it closes the connection without an answer."""
    client(redis_cli, work, "SHUTDOWN", "NOSAVE")
