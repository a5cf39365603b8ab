"""A headless Chromium, driven through a pair of pipes: nothing beyond the standard library; and what the tests of pages share.

Its protocol is one JSON object a message, each ended by a zero byte: descriptor 3 of the browser reads, 4 writes.
"""
import base64
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

START_SECONDS = 120  # a busy machine; an idle one needs one or two


class BrowserError(Exception):
    pass


def find() -> str | None:
    """The browser's path; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of one browser. `problems` holds what the console, a script or the network complained of."""

    def __init__(self, program: str):
        self.problems: list[str] = []
        self._number = 0
        self._buffer = b""
        self._events: list[dict] = []
        self._profile = tempfile.mkdtemp(prefix="ashlar-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def descriptors() -> None:  # 3 and 4 may be what the pipes themselves got
            a, b = os.dup(to_browser), os.dup(from_browser)
            while min(a, b) < 5:
                a, b = os.dup(a), os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self._process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking", "--disable-sync",
             "--disable-component-update", "--force-device-scale-factor=1",
             f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        target = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._call("Browser.close")
        except (BrowserError, OSError):
            self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters):
        return self._call(method, self._session, **parameters)

    def _call(self, method: str, session: str | None = None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._notice(answer)

    def _receive(self) -> dict:
        deadline = time.monotonic() + START_SECONDS
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise BrowserError(f"no answer in {START_SECONDS} s")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise BrowserError("the browser ended")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _notice(self, event: dict) -> None:
        self._events.append(event)
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append("script: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(f"console.{parameters['type']}: {[a.get('value') for a in parameters['args']]}")
        elif method == "Log.entryAdded":
            self.problems.append(f"log: {parameters['entry']['text']}")
        elif method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith("file:"):
            self.problems.append(f"network: {parameters['request']['url']}")

    def open(self, page: Path, width: int = 1280, height: int = 900) -> None:
        """Returns when the page has been loaded and drawn."""
        self.resize(width, height)
        self._events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self._events):
            self._notice(self._receive())
        self.settle()

    def settle(self) -> None:
        """Two frames: what was asked to be drawn has been drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, theme: str) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def evaluate(self, script: str):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(result["exceptionDetails"].get("exception", {}).get("description", "script failed"))
        return result["result"].get("value")

    def wait_until(self, script: str) -> None:
        """Until it is true, or 20 seconds long. While the page changes to another one, nothing can be asked."""
        for _ in range(400):
            try:
                if self.evaluate(script):
                    return
            except BrowserError:
                pass
            time.sleep(0.05)

    def press(self, key: str, text: str = "") -> None:
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "Home": 36, "End": 35,
                 "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        about = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        if key == "Enter":
            text = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def picture(self, file: Path, whole: bool = True) -> None:
        kind = file.suffix[1:]  # png, webp
        quality = {} if kind == "png" else {"quality": 80}
        data = self.call("Page.captureScreenshot", format=kind, **quality, captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def pdf(self, file: Path) -> None:
        a4 = {"paperWidth": 8.27, "paperHeight": 11.69}
        printed = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True, **a4)
        file.write_bytes(base64.b64decode(printed["data"]))


# ---- what the tests of pages share -------------------------------------------------------------------------

# Of each canvas: the share of its plot's pixels that were drawn on, the grid's lines left out.
DRAWN = """[...document.querySelectorAll('.chart')].map(chart => {
  const canvas = chart.querySelector('canvas'), over = chart.querySelector('.u-over');
  const [c, o] = [canvas.getBoundingClientRect(), over.getBoundingClientRect()];
  const scale = canvas.width / c.width;
  const box = [(o.left - c.left) * scale, (o.top - c.top) * scale, o.width * scale, o.height * scale].map(Math.round);
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--grid').trim();  // #rrggbb
  const grid = colour.slice(1).match(/../g).map(h => parseInt(h, 16));
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const pixels = copy.getImageData(...box).data;
  let drawn = 0;
  for (let i = 0; i < pixels.length; i += 4)
    if (pixels[i + 3] > 100 && grid.some((g, k) => Math.abs(pixels[i + k] - g) > 3)) ++drawn;
  return [chart.getAttribute('aria-label'), drawn / (pixels.length / 4)];
})"""


def chart_faults(b: Browser, where: str, count: int) -> list[str]:
    charts = b.evaluate(DRAWN)
    faults = [f"{where}: chart '{name}' is blank" for name, drawn in charts if drawn < 0.002]
    return faults if len(charts) == count else faults + [f"{where}: {len(charts)} charts, not {count}"]


def paper_faults(b: Browser, folder: Path, least: int, most: int) -> list[str]:
    """So many pages, and light whatever the screen is. It is left as if printing."""
    b.pdf(folder / "page.pdf")
    pages = len(re.findall(rb"/Type\s*/Page\b", (folder / "page.pdf").read_bytes()))
    faults = [] if least <= pages <= most else [f"print: {pages} pages"]
    b.evaluate("dispatchEvent(new Event('beforeprint'))")
    return faults if b.evaluate("document.documentElement.dataset.theme") == "light" else faults + ["print: not light"]


def page_data(text: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">\n(.*?)\n</script>', text, re.S).group(1))


def whole(n: int) -> str:
    return f"{n:,}"


def size(n: int) -> str:
    units = ["B", "KiB", "MiB", "GiB"]
    unit = 0
    while n >= (1024 if unit == 0 else 1023.95):
        n, unit = n / 1024, unit + 1
    return f"{n:.0f} {units[unit]}" if n >= 100 or unit == 0 else f"{n:.1f} {units[unit]}"


class Command:
    """The command in a folder."""

    def __init__(self, path: str, folder: Path):
        self.path, self.folder = path, folder

    def __call__(self, *words: object, status: int = 0) -> str:
        """Returns: what it prints, or says where it has to fail."""
        ended = subprocess.run([self.path, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        if ended.returncode != status:
            raise SystemExit(f"{words}: status {ended.returncode}, {ended.stderr}")
        return ended.stderr if status else ended.stdout

    def record(self, name: str, lines: list[str]) -> Path:
        """Returns: the trace that has this text."""
        (self.folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        self("export", "--from-text", f"{name}.txt", "-o", f"{name}.atrace")
        return self.folder / f"{name}.atrace"


def missed_plants(b: Browser, page: Path, batches: list[dict], look) -> list[str]:
    """The faults that are not told when they are put into the page. A batch has such as do not hide each other; of each, what is
    replaced, by what, and a word of what must be told."""
    text, missed = page.read_text(), []
    for batch in batches:
        planted = text
        for name, (old, new, _) in batch.items():
            if old not in planted:
                missed.append(f"cannot plant {name}: '{old}' is not in the page")
            planted = planted.replace(old, new)
        page.write_text(planted)
        b.problems.clear()
        try:
            faults = look(page)
        except BrowserError as error:
            faults = [f"the browser: {error}"] + b.problems
        missed += [f"not found: {name}: {faults}" for name, (_, _, word) in batch.items() if not any(word in f for f in faults)]
    page.write_text(text)
    b.problems.clear()
    return missed


def test_pages(make, look) -> None:
    """make(command) makes the pages, and returns what look(browser, command, made, planted) needs to tell their faults. Ends the
    program: with 77 where there is no browser."""
    planted, program = "--planted" in sys.argv[2:], find()
    with tempfile.TemporaryDirectory() as name:
        command = Command(str(Path(sys.argv[1]).resolve()), Path(name))
        made = make(command)
        if program is None:
            print("no Chromium, so only the data were looked at (scripts/setup.sh browser)")
            sys.exit(77)
        with Browser(program) as b:
            faults = look(b, command, made, planted)
    print("\n".join(faults) or "the pages are right")
    sys.exit(1 if faults else 0)
