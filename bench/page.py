"""How fast the page of a report is in chromium: until its first content, until all is drawn, frames
while panning, memory. Beside it speedscope (by npm) with the same run, and the bytes of both. Left
out, aloud, where chromium or npm are missing."""
import base64
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TRACES = os.environ.get("LULL_CONFORMANCE_DIR", os.path.join(ROOT, "..", "shared", "traces"))
# Noise makes cells that deflate badly, which a page as large as allowed needs.
LARGE = "grid:ranks=64x64,iterations=300,exec=1ms,bytes=8KiB"
PAN = """
const done = arguments[0], canvas = document.querySelector(".panel canvas");
canvas.scrollIntoView({block: "center"});
canvas.setPointerCapture = () => {};
for (let i = 0; i < 4; i++)
    canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "+"}));
const box = canvas.getBoundingClientRect(), y = box.top + box.height / 2, frames = [];
let x = box.left + box.width / 2, last = 0;
const fire = (type) => canvas.dispatchEvent(new PointerEvent(type, {clientX: x, clientY: y, pointerId: 1}));
function tick(now) {
    if (last)
        frames.push(now - last);
    last = now;
    x += frames.length % 160 < 80 ? -5 : 5;
    fire("pointermove");
    if (frames.length < 400)
        return requestAnimationFrame(tick);
    fire("pointerup");
    frames.sort((one, other) => one - other);
    return done([frames[200], frames[395]]);
}
setTimeout(() => { fire("pointerdown"); requestAnimationFrame(tick); }, 1500);
"""


def heap(browser):
    """Megabytes of objects and of the arrays behind them."""
    usage = browser.command("Runtime.getHeapUsage", {})
    return sum(usage.get(name, 0) for name in ("usedSize", "embedderHeapUsedSize", "backingStorageSize")) / 1e6


def measure(browser, address, condition):
    """Seconds until the first content and until the condition holds, and the megabytes of its heap."""
    browser.get("about:blank")
    begin = time.monotonic()
    browser.get(address)
    while not browser.run("return " + condition):
        time.sleep(0.005)
    whole = time.monotonic() - begin
    first = browser.run(
        "return (performance.getEntriesByName('first-contentful-paint')[0] || {startTime: NaN}).startTime / 1000")
    return first, whole, heap(browser)


def speedscope(folder):
    """Where speedscope's page is, or None."""
    if not shutil.which("npm"):
        return None
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder,
                           "speedscope@1"], capture_output=True, check=False)
    page = pathlib.Path(folder, "node_modules/speedscope/dist/release/index.html").resolve()
    return page if done.returncode == 0 and page.exists() else None


def measure_page(path):
    """In a process of its own, which ends where chromium is missing: prints numbers."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "report"))
    import browser as web
    browser = web.start(1400, 1000)
    try:
        first, whole, memory = measure(browser, pathlib.Path(path).as_uri(), "document.documentElement.dataset.ready")
        median, slow = browser.run_until_done(PAN)
        print(first, whole, median / 1000, slow / 1000, max(memory, heap(browser)))
    finally:
        browser.quit()


def measure_peer(page, trace):
    """speedscope reads what a script hands over, because pages of files cannot fetch."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "report"))
    import browser as web
    script = pathlib.Path(trace + ".js")
    content = base64.b64encode(pathlib.Path(trace).read_bytes()).decode()
    script.write_text("speedscope.loadFileFromBase64('run.json', '%s')" % content)
    browser = web.start(1400, 1000)
    try:
        _, whole, memory = measure(browser, "%s#localProfilePath=%s" % (pathlib.Path(page).as_uri(), script),
                                 "document.querySelectorAll('canvas').length > 0")
        print(whole, memory)
    finally:
        browser.quit()


def numbers(bench, *words):
    """Medians of what a process of this file prints; None where it cannot."""
    taken = []
    for _ in range(bench.runs):
        done = subprocess.run([sys.executable, "-B", os.path.abspath(__file__), *words], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            print("page: left out:", (done.stdout + done.stderr).strip().splitlines()[-1])
            return None
        taken.append([float(word) for word in done.stdout.split()])
    return [sorted(column)[len(column) // 2] for column in zip(*taken)]


def compare(bench, name, run, limit, peer):
    page, trace = os.path.abspath(bench.path("page.html")), os.path.abspath(bench.path("page.json"))
    subprocess.run(bench.lull("report", run, "--output", page), check=True, stderr=subprocess.DEVNULL)
    size = os.path.getsize(page) / 1e6
    found = numbers(bench, "page", page)
    if not found:
        return
    first, whole, median, slow, memory = found
    bench.add(name + ": first content", "%.2f s" % first, limit, "%.1f MB of HTML, all drawn after %.2f s"
              % (size, whole))
    bench.add(name + ": frames while panning", "median %.0f ms, p99 %.0f ms" % (1000 * median, 1000 * slow),
              "p99 <= 33 ms")
    bench.add(name + ": heap", "%.0f MB" % memory, "<= 300 MB")
    if not peer:
        return
    subprocess.run(bench.lull("convert", run, trace, "--to", "chrome"), check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    other = numbers(bench, "peer", str(peer), trace)
    if other:
        bench.add(name + ": until drawn, speedscope against it", "%.1f x" % (other[0] / whole), "",
                  "%.2f s, %.1f MB of JSON, heap %.0f MB" % (other[0], os.path.getsize(trace) / 1e6, other[1]))
    os.remove(trace)  # lull writes over no file that it has not been told to


def rows(bench):
    epoch = os.path.join(TRACES, "epoch-mpi", "epoch_8proc.prv.gz")
    peer = None
    if bench.wanted("page: EPOCH on 8 ranks") or bench.wanted("page: 4,096 simulated ranks"):
        peer = speedscope(bench.path("npm"))
    if bench.wanted("page: EPOCH on 8 ranks") and os.path.exists(epoch):
        compare(bench, "page: EPOCH on 8 ranks", epoch, "<= 0.5 s", peer)
    if bench.wanted("page: 4,096 simulated ranks"):
        run = bench.path("page-run")
        subprocess.run(bench.lull("simulate", "--pattern", LARGE, "--no-path", "--noise", "exponential:mean=200us",
                                  "-o", run), check=True, stdout=subprocess.DEVNULL)
        compare(bench, "page: 4,096 simulated ranks", run, "<= 1.2 s", peer)


if __name__ == "__main__":
    {"page": measure_page, "peer": measure_peer}[sys.argv[1]](*sys.argv[2:])
