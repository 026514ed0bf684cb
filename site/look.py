"""Look at the built site in Chromium, as files, at three widths:

    python3 site/look.py [FOLDER [PICTURES]]

No page may be wider than the window or ask for anything outside its folder, and the search has to find pages. FOLDER is
dist/site/main without an argument. PICTURES is a folder for a picture of each width. Needs chromium and chromedriver.
"""

import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

WIDTHS = (400, 900, 1400)
SEARCHES = {"revoke a key": "gateway/keys.html", "toolpost demo": "reference/commands.html", "trailing comma": "repair.html"}

OVERFLOW = """
const wide = document.documentElement.scrollWidth > innerWidth + 1;
const asked = performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('file:') && !n.startsWith('data:'));
return [wide ? 'wider than the window: ' + document.documentElement.scrollWidth : '', ...asked].filter(Boolean)"""
FOUND = "return [...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "dist/site/main").resolve()
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        port = next(m[1] for line in driver.stdout if (m := re.search(r"on port ([1-9]\d*)\.?$", line.strip())))
        problems = look(f"http://127.0.0.1:{port}/session", folder, pictures)
    finally:
        driver.terminate()
    print("\n".join(problems) or "every page fits, asks for nothing, and is found")
    return bool(problems)


def look(base, folder, pictures):
    def call(path, **body):
        request = urllib.request.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))["value"]

    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync", "--allow-file-access-from-files", "--user-data-dir=" + profile]
        base += "/" + call("", capabilities={"alwaysMatch": {"goog:chromeOptions": {"args": flags}}})["sessionId"]
        problems = []
        for width in WIDTHS:
            call("/window/rect", width=width, height=1000)
            for page in sorted(folder.rglob("*.html")):
                if page.name == "404.html":
                    continue
                call("/url", url=page.as_uri())
                for problem in call("/execute/sync", script=OVERFLOW, args=[]):
                    problems.append(f"{page.relative_to(folder)} at {width}: {problem}")
            if pictures:
                call("/url", url=(folder / "index.html").as_uri())
                picture = json.load(urllib.request.urlopen(base + "/screenshot"))["value"]
                (pictures / f"{width}.png").write_bytes(base64.b64decode(picture))
        for words, page in SEARCHES.items():
            call("/url", url=(folder / "index.html").as_uri() + "?q=" + words.replace(" ", "+"))
            for _ in range(200):
                found = call("/execute/sync", script=FOUND, args=[])
                if any(page in link for link in found):
                    break
                time.sleep(0.1)
            else:
                problems.append(f"a search for {words!r} does not find {page}, but {found}")
        urllib.request.urlopen(urllib.request.Request(base, method="DELETE"))
    return problems


if __name__ == "__main__":
    sys.exit(main())
